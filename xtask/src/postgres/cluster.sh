#!/bin/sh
# A PostgreSQL cluster for tests. It lives as long as somebody holds this script's standard input open.
#
# Wants the folder of the server's binaries in TRUNKLINE_TEST_POSTGRES_BIN. Prints one line, the server's URL, when the
# server answers. Then each line that it reads is a command, answered by a line `ok` or `failed`:
#
#   stop    as an administrator stops it: open connections are cut, everything committed is in the tables
#   crash   the server breaks off in the middle, without a checkpoint; the next start recovers from its log
#   start   with the same data on the same port
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
max_connections = 200
shared_buffers = 16MB
END

# Below the ports that systems give to outgoing connections, so that it is still free when the server starts again.
for _ in 1 2 3 4 5 6 7 8; do
    port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
    : >"$log"
    own "$log"
    if start; then
        echo "postgres://trunkline:$password@127.0.0.1:$port/postgres" 2>/dev/null || exit 1
        while read -r word; do
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
