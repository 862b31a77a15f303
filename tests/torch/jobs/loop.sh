# Ranks started by a plain loop, no launcher: loop.sh RANKS PORT COMMAND...
ranks=$1 port=$2
shift 2
export WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
rank=0 started=
while [ $rank -lt $ranks ]; do
  RANK=$rank "$@" &
  started="$started $!" rank=$((rank + 1))
done
code=0
for process in $started; do
  wait $process || code=$?
done
exit $code
