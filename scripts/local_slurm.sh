#!/usr/bin/env bash
# A Slurm of one node, this machine: munge, slurmctld and slurmd of Debian (apt install slurm-wlm munge), as root.
#   scripts/local_slurm.sh start FOLDER    start the daemons; print what to export
#   scripts/local_slurm.sh stop FOLDER
#   scripts/local_slurm.sh kill-slurmd FOLDER | start-slurmd FOLDER     a node that dies, and comes back
# FOLDER receives the configuration, state and logs. No accounting: smcmc asks squeue alone.
set -euo pipefail

action=${1:?start, stop, kill-slurmd or start-slurmd}
folder=$(mkdir -p "${2:?a folder}" && cd "$2" && pwd)
conf=$folder/slurm.conf
export SLURM_CONF=$conf

configure() {
  local memory
  memory=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
  mkdir -p "$folder"/{state,spool}
  cat > "$conf" <<CONF
ClusterName=local
SlurmctldHost=$(hostname -s)
SlurmUser=root
AuthType=auth/munge
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=1,sched_interval=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
JobRequeue=1
ReturnToService=2
KillWait=5
MinJobAge=60
SlurmdTimeout=20
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$memory State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
}

await() {
  for _ in $(seq 60); do
    if "$@" > /dev/null 2>&1; then return 0; fi
    sleep 0.5
  done
  echo "local_slurm: $* did not come up; see the logs in $folder" >&2
  return 1
}

idle() { sinfo --noheader --format=%t | grep -q -E 'idle|mix|alloc'; }

stop() {
  for daemon in slurmd slurmctld; do
    if [ -f "$folder/$daemon.pid" ]; then kill "$(cat "$folder/$daemon.pid")" 2> /dev/null || true; fi
  done
}

case $action in
  start)
    configure
    if ! munge -n > /dev/null 2>&1; then
      [ -f /etc/munge/munge.key ] || mungekey --create
      mkdir -p /run/munge && chown munge: /run/munge
      runuser -u munge -- munged
      await munge -n
    fi
    slurmctld -f "$conf"
    await scontrol ping
    slurmd -f "$conf"
    await idle
    echo "export SLURM_CONF=$conf"
    ;;
  stop) stop ;;
  kill-slurmd) kill -9 "$(cat "$folder/slurmd.pid")" ;;
  start-slurmd)
    slurmd -f "$conf"
    await idle
    ;;
  *)
    echo "local_slurm: $action: expected start, stop, kill-slurmd or start-slurmd" >&2
    exit 2
    ;;
esac
