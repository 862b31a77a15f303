# A job of two nodes, both on this host: two_nodes.sh PYTHON PORT RANKS_A_NODE SCRIPT...
python=$1 port=$2 ranks=$3
shift 3
for node in 0 1; do
  "$python" -m torch.distributed.run --nnodes 2 --node_rank $node --nproc_per_node "$ranks" --master_addr 127.0.0.1 \
    --master_port "$port" --monitor_interval 0.5 "$@" &
  nodes="$nodes $!"
done
code=0
for node in $nodes; do
  wait "$node" || code=$?
done
exit $code
