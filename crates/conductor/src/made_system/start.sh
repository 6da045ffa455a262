#!/bin/sh
# Starts Backsight's agent in a virtual machine: as a service of it, or as its first process. The machine that measures brings the
# agent along on a disk of its own, so that it is always the right one.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
if [ $$ = 1 ]; then
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t devtmpfs devtmpfs /dev
    mount -o remount,rw /
fi 2> /dev/null
for module in virtio_console virtio_net vmw_vsock_virtio_transport; do
    modprobe "$module" 2> /dev/null
done
folder=/usr/local/lib/backsight/agent
mkdir -p "$folder"
for disk in /sys/block/*; do
    if [ "$(cat "$disk/serial" 2> /dev/null)" = backsight ]; then
        mount -t ext4 -o ro "/dev/${disk##*/}" "$folder"
    fi
done
channel=$(cat "$folder/channel" 2> /dev/null || echo /dev/virtio-ports/backsight)
if [ $$ = 1 ]; then
    exec "$folder/backsight" agent --init "$channel"
fi
exec "$folder/backsight" agent --port "$channel"
