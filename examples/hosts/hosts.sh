#!/bin/sh
# Hosts of one machine to try runs on several hosts with: network namespaces on a bridge.
#   sudo ./hosts.sh up 4          hosts 1 to 4, at 10.77.1.11 to 10.77.1.14; this machine is at 10.77.1.1
#   sudo ./hosts.sh rate 20mbit   what each host may send and receive (default: as fast as it goes)
#   sudo ./hosts.sh down          ends what runs in them, and takes them away
#   sudo ./hosts.sh HOST COMMAND  runs a command there: a --remote-shell
set -eu
PATH=$PATH:/usr/sbin:/sbin
hosts() { ip netns list | sed -n 's/^ukemi-host-\([0-9]*\).*/\1/p'; }
down() {
    for k in $(hosts); do
        ip netns pids "ukemi-host-$k" | xargs -r kill -9
        ip netns del "ukemi-host-$k"
    done
    ip link del ukemi-bridge
}

case ${1:-} in
up)
    ip link add name ukemi-bridge type bridge # or they are there already
    trap '[ $? = 0 ] || down' EXIT
    ip addr add 10.77.1.1/24 dev ukemi-bridge
    ip link set ukemi-bridge up
    for k in $(seq "${2:-4}"); do
        ip netns add "ukemi-host-$k"
        ip -n "ukemi-host-$k" link set lo up
        ip link add "ukemi-veth-$k" type veth peer name eth0 netns "ukemi-host-$k"
        ip link set "ukemi-veth-$k" master ukemi-bridge up
        ip -n "ukemi-host-$k" addr add "10.77.1.$((10 + k))/24" dev eth0
        ip -n "ukemi-host-$k" link set eth0 up
    done ;;
rate)
    for k in $(hosts); do
        tc qdisc replace dev "ukemi-veth-$k" root tbf rate "$2" burst 64kb latency 100ms
        tc -n "ukemi-host-$k" qdisc replace dev eth0 root tbf rate "$2" burst 64kb latency 100ms
    done ;;
down) down ;;
[0-9]*)
    host=$1
    shift
    exec ip netns exec "ukemi-host-$host" sh -c "$*" ;;
*)
    sed -n '2,7s/^# *//p' "$0" >&2
    exit 2 ;;
esac
