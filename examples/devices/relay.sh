#!/bin/sh
# What the dut does above its routes for a kind of traffic, until it is stopped: sh relay.sh TRAFFIC
near=to-source
[ -e /sys/class/net/dev0 ] && near=dev0
case $1 in
  splice)
    cat > haproxy.cfg <<END
global
  maxconn 100
defaults
  mode tcp
  option splice-auto
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen v4
  bind 10.80.5.2:5001
  server sink 10.80.6.2:5001
listen v6
  bind fd80:5::2:5001
  server sink [fd80:6::2]:5001
END
    haproxy -db -f haproxy.cfg &
    for try in $(seq 100); do
      [ "$(ss -Htln 'sport = 5001' | wc -l)" = 2 ] && break
      sleep 0.05
    done
    ;;
  multicast)
    # A switch floods it.
    if ip address show dev $near | grep -q 10.80.5.2; then
      exec python3 "$(dirname "$0")/multicast_router.py" $near to-sink 10.80.5.1 231.80.5.1 fd80:5::1 ff2e::1
    fi
    ;;
esac
echo ready
[ "$1" = splice ] && wait
exec sleep infinity
