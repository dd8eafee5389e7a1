#!/bin/sh
# A PostgreSQL cluster for tests. It lives as long as somebody holds this script's standard input open.
#
# Wants the folder of the server's binaries in TRUNKLINE_TEST_POSTGRES_BIN. Prints one line, the server's URL, when the
# server answers. Then each line that it reads is a command, answered by a line `ok` or `failed`:
#
#   stop    as an administrator stops it: open connections are cut, everything committed is in the tables
#   crash   the server breaks off in the middle, without a checkpoint; the next start recovers from its log
#   start   with the same data on the same port
#   pool    PgBouncer before the server, as Debian ships it; once, and it stays through all of the above. Its answer is a
#           URL without a database, `missing` if the program is not there, or `failed`. See `pool` below for its databases.
#
# When the input ends the server is stopped and its folder removed. The system closes a pipe with the process that holds
# its other end, so not even a kill -9 of that process leaves a server behind. Start this script in a process group of
# its own, so that what kills the group spares it.
#
# PostgreSQL refuses to run as root. Root becomes the user `postgres`, whom Debian's package makes, or else `nobody`.
set -u

# Ctrl-C is for the one who holds the pipe; and when he is gone, nobody reads what we print.
trap '' INT QUIT HUP PIPE
umask 077
cd /
export LC_ALL=C
unset PGDATA PGPORT PGOPTIONS PGSYSCONFDIR NOTIFY_SOCKET

fail() {
    [ ! -s "${log:-}" ] || tail -n 20 "$log" >&2
    echo "cluster.sh: $*" >&2
    exit 1
}

binaries="${TRUNKLINE_TEST_POSTGRES_BIN:?the folder of initdb, pg_ctl and postgres}"

if [ "$(id -u)" -ne 0 ]; then
    user=
    as_server() { "$@"; }
    own() { :; }
else
    command -v setpriv >/dev/null || fail "root needs setpriv (package util-linux) to start PostgreSQL as somebody else"
    user=postgres
    id "$user" >/dev/null 2>&1 || user=nobody
    as_server() { setpriv --reuid="$(id -u "$user")" --regid="$(id -g "$user")" --clear-groups -- "$@"; }
    own() { chown "$user" "$@"; }
fi

# The temporary folder of root may be closed to everybody else.
for place in "${TMPDIR:-/tmp}" /tmp /var/tmp; do
    folder="$(mktemp -d "$place/trunkline-postgres-XXXXXX")" || continue
    own "$folder"
    as_server test -w "$folder" && break
    rmdir "$folder"
    folder=
done
[ -n "${folder:-}" ] || fail "no temporary folder that ${user:-this user} can write to"

data="$folder/data"
log="$folder/log"

control() {
    as_server "$binaries/pg_ctl" "$@" -D "$data" >>"$log" 2>&1
}
stop() {
    [ ! -e "$data/postmaster.pid" ] || control stop -m "$1" -t 60
}
start() {
    control start -t 60 -l "$log" -o "-p $port"
}
remove() {
    if [ -n "${pooler:-}" ]; then
        kill -TERM "$(cat "$folder/pool.pid")" 2>>"$log" && wait "$pooler"
    fi
    stop immediate
    rm -rf "$folder"
}
trap remove EXIT
trap 'exit 1' TERM

# Others on this machine can reach the port. Who may log in may run programs as the server's user.
password="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
printf '%s\n' "$password" >"$folder/password"
own "$folder/password"
# `password` and no challenge: that costs an unoptimized client a tenth of a second, and nobody listens on loopback.
# Without sync, because nothing worth keeping is there yet; the server itself syncs as always.
as_server "$binaries/initdb" --pgdata="$data" --username=trunkline --pwfile="$folder/password" --auth=password \
    --encoding=UTF8 --no-locale --no-sync >"$log" 2>&1 || fail "initdb failed, see above"
rm "$folder/password"
# The socket lies beside the data: a path from the root may be longer than a socket's name can be.
cat >>"$data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
unix_socket_directories = '.'
max_connections = 400
shared_buffers = 16MB
END

# Below the ports that systems give to outgoing connections, so that it is still free when the server starts again.
any_port() {
    echo $((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
}

# PgBouncer with its settings as they are built in, but for its pools, and above all without
# `ignore_startup_parameters`. A database is a way to the server's database `postgres`: `transaction`, `session` and
# `statement` by that mode over TCP, and `transaction_socket` and `session_socket` over the server's Unix socket. Any other
# name is the server's database of that name, in transaction mode, so that a test has backends that no other test uses.
# Four backends to a pool, so that clients really share them; in session mode each client needs one of its own.
pool() {
    [ -z "${pooler:-}" ] || return 1
    bouncer="$(PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v pgbouncer)" || {
        echo missing
        return
    }
    # Longer names are no names for a socket.
    socket="$folder"
    [ "${#data}" -lt 85 ] || socket=
    printf '"trunkline" "%s"\n' "$password" >"$folder/users"
    for _ in 1 2 3 4 5 6 7 8; do
        pool_port="$(any_port)"
        : >"$folder/pool.log"
        way="host=127.0.0.1 port=$port user=trunkline"
        by_socket="host=${socket:+$data} port=$port user=trunkline"
        cat >"$folder/pool.ini" <<END
[databases]
transaction = $way dbname=postgres
session = $way dbname=postgres pool_mode=session pool_size=60
statement = $way dbname=postgres pool_mode=statement
${socket:+transaction_socket = $by_socket dbname=postgres}
${socket:+session_socket = $by_socket dbname=postgres pool_mode=session pool_size=20}
* = $way

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pool_port
unix_socket_dir = $socket
auth_type = plain
auth_file = $folder/users
admin_users = trunkline
pool_mode = transaction
default_pool_size = 4
max_client_conn = 500
pidfile = $folder/pool.pid
log_connections = 0
log_disconnections = 0
END
        own "$folder/pool.log" "$folder/pool.ini" "$folder/users"
        as_server "$bouncer" "$folder/pool.ini" </dev/null >>"$folder/pool.log" 2>&1 &
        pooler=$!
        until grep -q "process up" "$folder/pool.log"; do
            kill -0 "$pooler" 2>/dev/null || break
            sleep 0.05
        done
        if kill -0 "$pooler" 2>/dev/null; then
            echo "postgres://trunkline:$password@127.0.0.1:$pool_port"
            return
        fi
        pooler=
        grep -qi "address already in use" "$folder/pool.log" || break
    done
    cat "$folder/pool.log" >&2
    return 1
}

for _ in 1 2 3 4 5 6 7 8; do
    port="$(any_port)"
    : >"$log"
    own "$log"
    if start; then
        echo "postgres://trunkline:$password@127.0.0.1:$port/postgres" 2>/dev/null || exit 1
        while read -r word; do
            # Its answer is its own.
            if [ "$word" = pool ]; then
                pool || echo failed
                continue
            fi
            case "$word" in
                start) start ;;
                stop) stop fast ;;
                crash) stop immediate ;;
                *) false ;;
            esac && echo ok || echo failed
        done
        exit 0
    fi
    grep -q "Address already in use" "$log" || break
done
fail "the server did not start, see above"
