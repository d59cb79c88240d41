#!/usr/bin/env bash
# slurm_sweep.sh FOLDER COMMAND… — runs a command in a Slurm of its own: one machine, which is this
# one, its files in FOLDER, reachable from nowhere else. 77: there is no Slurm here, or no root.
set -euo pipefail
PATH=$PATH:/usr/sbin
folder=$1
shift
for program in munged slurmctld slurmd sbatch; do command -v $program >/dev/null || exit 77; done
[ "$(id -u)" = 0 ] || exit 77

mkdir -m 700 "$folder"/{state,spool,munge}
dd if=/dev/urandom of="$folder/munge/key" bs=1024 count=1 status=none
chmod 600 "$folder/munge/key"
port=$((20000 + $$ % 20000))
cat >"$folder/slurm.conf" <<CONFIG
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmUser=root
AuthInfo=socket=$folder/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
NodeName=$(hostname) NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONFIG
export SLURM_CONF=$folder/slurm.conf

children=()
finish() { kill "${children[@]}" 2>/dev/null || true; wait; }
trap finish EXIT
munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
    --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" \
    2>"$folder/munged.log" &
children+=($!)
until [ -S "$folder/munge/socket" ]; do kill -0 "${children[0]}" && sleep 0.05; done
slurmctld -D -i >"$folder/slurmctld.log" 2>&1 &
children+=($!)
slurmd -D >"$folder/slurmd.log" 2>&1 &
children+=($!)
for _ in $(seq 300); do
    [ "$(sinfo --noheader --format=%T 2>/dev/null || true)" = idle ] && break
    sleep 0.1
done
"$@"
