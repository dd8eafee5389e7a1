#!/bin/sh
# Owns a cluster of the fail-over command: runs the program that is given, with a new folder as its last word, and cleans up
# when it has ended. That program ends when its standard input does, so not even a kill -9 of the one who started this
# script leaves a server behind. Start this script in a process group of its own, so that what kills the group spares it.
#
# As the first process of a namespace it also takes in the processes that lost their parents, which `wait` reaps.
set -u

# Ctrl-C is for the one who holds the pipe; and when that one is gone, nobody reads what we print.
trap '' INT QUIT HUP PIPE
umask 077
export LC_ALL=C
unset PGDATA PGPORT PGOPTIONS PGSYSCONFDIR NOTIFY_SOCKET

# The temporary folder of root may be closed to others, and its servers run as another user.
for place in "${TMPDIR:-/tmp}" /tmp /var/tmp; do
    folder="$(mktemp -d "$place/trunkline-failover-XXXXXX")" || continue
    chmod 711 "$folder"
    [ "$(id -u)" -ne 0 ] && break
    setpriv --reuid=65534 --regid=65534 --clear-groups -- test -x "$folder" && break
    rmdir "$folder"
    folder=
done
[ -n "${folder:-}" ] || exit 1

# A job in the background has no standard input unless it is given one.
exec 3<&0
"$@" "$folder" <&3 3<&- &
wait $!
code=$?

if [ $$ -eq 1 ]; then
    # All that is left in this namespace, and nothing else.
    kill -9 -1 2>/dev/null
else
    # What the program could not end itself, and the children, which may have been stopped.
    for file in "$folder"/*.pid "$folder"/*/data/postmaster.pid; do
        [ -e "$file" ] && read -r pid <"$file" && [ -e "/proc/$pid" ] || continue
        read -r children <"/proc/$pid/task/$pid/children"
        # shellcheck disable=SC2086
        kill -9 "$pid" $children 2>/dev/null
    done
fi
if [ -n "${TRUNKLINE_FAILOVER_KEEP:-}" ]; then
    echo "logs are kept in $folder"
else
    rm -rf "$folder"
fi
exit "$code"
