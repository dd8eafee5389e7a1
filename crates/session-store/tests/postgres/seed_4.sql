CREATE TABLE @bodies (
    session uuid NOT NULL,
    seq bigint NOT NULL,
    text text NOT NULL,
    cuts bytea
);
CREATE TABLE @keys (
    session uuid NOT NULL,
    name bytea NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    topic bigint NOT NULL,
    state bigint NOT NULL
);
CREATE TABLE @letters (
    session uuid NOT NULL,
    letter bigint NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    body text NOT NULL,
    consumed bigint,
    seal bytea
);
CREATE TABLE @owners (
    owner uuid NOT NULL,
    name text NOT NULL,
    alive_until timestamp with time zone NOT NULL
);
CREATE TABLE @parts (
    session uuid NOT NULL,
    digest bytea NOT NULL,
    text text NOT NULL
);
CREATE TABLE @records (
    session uuid NOT NULL,
    seq bigint NOT NULL,
    kind smallint NOT NULL,
    node bigint,
    parent bigint,
    at bigint NOT NULL,
    bytes bigint NOT NULL,
    digest bytea NOT NULL,
    layer text COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    state text COLLATE pg_catalog."C",
    once boolean,
    content bytea
);
CREATE TABLE @sessions (
    session uuid NOT NULL,
    complete boolean NOT NULL,
    title text NOT NULL,
    tags text[] NOT NULL,
    archived boolean NOT NULL,
    workspace text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    head bigint NOT NULL,
    records bigint NOT NULL,
    nodes bigint NOT NULL,
    bytes bigint NOT NULL,
    digest bytea NOT NULL,
    letters bigint DEFAULT 0 NOT NULL,
    consumed bigint DEFAULT 0 NOT NULL,
    token bigint DEFAULT 0 NOT NULL,
    owner uuid,
    claim bigint,
    seal bytea
)
WITH (fillfactor='60');
CREATE TABLE @snapshots (
    session uuid NOT NULL,
    seq bigint NOT NULL,
    digest bytea NOT NULL,
    form bigint NOT NULL,
    seal bytea NOT NULL,
    bytes bytea NOT NULL
);
CREATE TABLE @store (
    mark text NOT NULL,
    version bigint NOT NULL
);
CREATE SEQUENCE @tokens
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 1, '{"node":"n0","role":"system","author":"harness","content":[{"type":"text","text":"be brief"}]}', NULL);
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000002', 1, '{"node":"n0","role":"system","author":"harness","content":[{"type":"text","text":"be brief"}]}', NULL);
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 2, '{"node":"n1","role":"user","author":"person","content":[{"type":"text","text":"hello"}]}', NULL);
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 3, '{"node":"n2","role":"user","author":"person","content":[{"type":"text","text":""}]}', '\x000000000000004fa0382e39cf880c6471b909dd111bd0cc0ea645edccf2e6289ecae060a083b576');
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 4, '"person_revert"', NULL);
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 5, '{"node":"n3","role":"user","author":"person","content":[{"type":"text","text":""}]}', '\x000000000000004fa0382e39cf880c6471b909dd111bd0cc0ea645edccf2e6289ecae060a083b576');
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 6, '{"node":"n4","role":"user","author":"person","content":[{"type":"text","text":"another way"}]}', NULL);
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 7, '{"wet":1.50}', NULL);
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 8, '{}', NULL);
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 9, '[]', NULL);
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 10, '"done"', NULL);
INSERT INTO @bodies VALUES ('00000000-0000-7000-8000-000000000001', 11, '"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/w=="', NULL);
INSERT INTO @keys VALUES ('00000000-0000-7000-8000-000000000001', '\x0dbaf606366d710be604f9f93adfb363a3ee3df7a586cee40723d6c21a953d2e', 8, 9, 6343127806500435827, -5423724279596813033);
INSERT INTO @keys VALUES ('00000000-0000-7000-8000-000000000001', '\x796dd1d65be5e93ae373e1490d28664d57bdaeec36a60ce846783f175f9fd228', 10, 10, -6548807334892362656, -5812615543772869766);
INSERT INTO @letters VALUES ('00000000-0000-7000-8000-000000000001', 2, 6, 'cancel', 'null', NULL, '\x121c4217c223aac47dd18a2c21db4b45018c2a748139c4077a5f1ab9d933cc14');
INSERT INTO @letters VALUES ('00000000-0000-7000-8000-000000000001', 1, 5, 'prompt', '{"text":"go on"}', 11, '\x');
INSERT INTO @parts VALUES ('00000000-0000-7000-8000-000000000001', '\xa0382e39cf880c6471b909dd111bd0cc0ea645edccf2e6289ecae060a083b576', 'large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large large ');
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 1, 0, 0, NULL, 1, 94, '\x4df9529792059d23b2108e4fb6abeefa4fa025deb13c07b9339c271d9301b0e8', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000002', 1, 0, 0, NULL, 1, 94, '\x08c3a452117518b25d1b297b0807e45ec780cac6a5e220b4d15ce3aacbe22fc2', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 2, 0, 1, 0, 11, 88, '\x52ef9d06b22c8195208b7296bb3e2dde20fb9cbfcdcec208d4f75a5549a0a5fe', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 3, 0, 2, 1, 12, 4883, '\xdaa721113ac1c219fb4072483821d7f486b3903f4285c7152ded35224b5e6752', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 4, 2, 1, 2, 20, 15, '\x7686d9be28b6a1228bcecb65e09e57e612e387fbee2f6a71736164499d840cf3', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 5, 1, 3, 2, 13, 4883, '\x955911b8e595e8db8d55940d8f6924ace878d483de99004a36b17816a8931867', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 6, 0, 4, 1, 14, 94, '\xd80ad6de9c94a6a83d896a7b0b8624a701cba1fa74f5c65f5b950fb13cc3ecb7', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 7, 3, NULL, NULL, 30, 12, '\x77a8708ba5e4d90457a45d1c4b91bc5c3c1440c8da684b3cea41d5ddea4680b8', 'weather', 'rain', NULL, NULL, NULL, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 8, 3, NULL, NULL, 31, 2, '\xa26aeb72eb2d11cecb28b9c982f0773ae7a36c137e9fbde6431ad6317c1ecdf7', 'queue', 'proposal', 'p1', 'pending', false, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 9, 3, NULL, NULL, -1, 2, '\x76a01056af2b9c1b835746dbe67213f799881b0250130a668f3167644a875a67', 'queue', 'proposal', 'p1', 'applied', false, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 10, 3, NULL, NULL, 32, 6, '\xb0b1978f1e0afffa2fa775201a2a5d995c33195f7a6b9c54566c9b5b5c0f3deb', 'decisions', 'decision', 'run 1', '', true, NULL);
INSERT INTO @records VALUES ('00000000-0000-7000-8000-000000000001', 11, 4, NULL, NULL, 33, 346, '\xd83001ed2f727456d8ec94706ed4fd6bd8166718ecb882cddc378a78d0ff27d7', 'files', 'before', NULL, NULL, NULL, '\x40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880');
INSERT INTO @sessions VALUES ('00000000-0000-7000-8000-000000000002', true, 'session 2 ä', '{}', true, NULL, 2, 2, 0, 1, 1, 94, '\x08c3a452117518b25d1b297b0807e45ec780cac6a5e220b4d15ce3aacbe22fc2', 0, 0, 0, NULL, NULL, '\xd8dc6b634a4481b543b426eaac7c7b4b72aeffb24bdd92c34a7d5e3a0a41edff');
INSERT INTO @sessions VALUES ('00000000-0000-7000-8000-000000000001', true, 'session 1 ä', '{one,two}', false, '/project', 1, -1, 4, 11, 5, 10425, '\xd83001ed2f727456d8ec94706ed4fd6bd8166718ecb882cddc378a78d0ff27d7', 2, 1, 1, NULL, NULL, '\x530adea0a7a30758e8fa7432e169e39d4b5a9bd5f5a7cb53748f643f67d4e386');
INSERT INTO @store VALUES ('trunkline session store', 4);
SELECT pg_catalog.setval('@tokens', 1, true);
ALTER TABLE ONLY @bodies
    ADD CONSTRAINT bodies_pkey PRIMARY KEY (session, seq);
ALTER TABLE ONLY @keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (session, name);
ALTER TABLE ONLY @letters
    ADD CONSTRAINT letters_pkey PRIMARY KEY (session, letter);
ALTER TABLE ONLY @owners
    ADD CONSTRAINT owners_pkey PRIMARY KEY (owner);
ALTER TABLE ONLY @parts
    ADD CONSTRAINT parts_pkey PRIMARY KEY (session, digest);
ALTER TABLE ONLY @records
    ADD CONSTRAINT records_pkey PRIMARY KEY (session, seq);
ALTER TABLE ONLY @sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (session);
ALTER TABLE ONLY @snapshots
    ADD CONSTRAINT snapshots_pkey PRIMARY KEY (session);
CREATE INDEX keys_topics ON @keys USING btree (topic, state);
CREATE INDEX letters_open ON @letters USING btree (session, letter) WHERE ((consumed IS NULL) OR (octet_length(seal) > 0));
CREATE INDEX records_blobs ON @records USING btree (session, content) WHERE (kind = 4);
CREATE INDEX records_branches ON @records USING btree (session, node) WHERE ((kind <= 1) AND (parent <> (node - 1)));
CREATE INDEX records_nodes ON @records USING btree (session, node) WHERE (kind <= 1);
