#!/bin/sh
# A pseudo-device on the wire between source and dut, with addresses and routes of both families for what is measured:
#
#   sh device.sh up|down KIND source|dut|sink
#
# source  10.80.5.1, fd80:5::1   the device   10.80.5.2, fd80:5::2  dut  10.80.6.1, fd80:6::1   a wire   10.80.6.2, fd80:6::2  sink
act=$1 kind=$2 host=$3
case $host in
  source) wire=to-dut me=1 peer=2 ;;
  dut) wire=to-source me=2 peer=1 ;;
  sink) wire=to-dut ;;
esac
near=dev0
[ "$kind" = veth ] || [ "$kind" = bridge ] && near=$wire

down() {
  ip route flush proto 80
  ip -6 route flush proto 80
  ip -6 route flush table local proto 80
  for link in $wire to-sink; do
    [ -e "/sys/class/net/$link" ] && ip -6 address flush dev $link scope global
  done
  ip address delete 10.80.5.$me/24 dev $wire
  ip link set $wire nomaster
  ip link delete dev0
}

# The device itself.
make() {
  case $kind in
    veth) ;;
    vlan) ip link add link $wire name dev0 type vlan id 80 ;;
    vxlan) ip link add dev0 type vxlan id 80 local 10.80.4.$me remote 10.80.4.$peer dstport 4789 dev $wire ;;
    macvlan) ip link add link $wire name dev0 type macvlan mode bridge ;;
    ipvlan) ip link add link $wire name dev0 type ipvlan mode l2 ;;
    bond) ip link add dev0 type bond mode active-backup && ip link set $wire down master dev0 ;;
    # A program carries its packets over UDP (socat, the next step of the variant).
    tun) ip tuntap add dev dev0 mode tun && ip link set dev0 mtu 1472 ;;
    # The dut is a switch: its wires are ports, and it has no address.
    bridge)
      [ $host = dut ] || return 0
      ip link add dev0 type bridge && ip link set to-source master dev0 && ip link set to-sink master dev0 && ip link set dev0 up
      ;;
    *) echo "no device $kind" >&2; false ;;
  esac
}

up() {
  [ $host = sink ] || { make && ip link set $wire up && ip link set $near up; } || return
  [ $kind$host = bridgedut ] && return
  if [ $host != sink ]; then
    ip address add 10.80.5.$me/24 dev $near && ip address add fd80:5::$me/64 dev $near nodad || return
  fi
  [ $host = source ] || ip address add fd80:6::$([ $host = dut ] && echo 1 || echo 2)/64 dev $([ $host = dut ] && echo to-sink || echo to-dut) nodad || return
  # Who is the next one on the way to the other end. As a port of a switch, each is on one wire with the other.
  case $host-$kind in
    dut-*) return ;;
    source-bridge) net=6 me=5 via="dev $wire" via6="dev $wire" ;;
    source-*) net=6 me=5 via="via 10.80.5.2" via6="via fd80:5::2" ;;
    sink-bridge) net=5 me=6 near=$wire via="dev $wire" via6="dev $wire" ;;
    sink-*) net=5 me=6 near=$wire via="via 10.80.6.1" via6="via fd80:6::1" ;;
  esac
  own=$([ $host = source ] && echo 1 || echo 2)
  ip route add 10.80.$net.0/24 $via src 10.80.$me.$own proto 80 && ip -6 route add fd80:$net::/64 $via6 src fd80:$me::$own proto 80 &&
    ip route add 231.0.0.0/8 dev $near src 10.80.$me.$own proto 80 && ip -6 route add multicast ff2e::/16 dev $near table local proto 80
}

case $act in
  up) set -e; up ;;
  down) down 2> /dev/null; true ;;
esac
