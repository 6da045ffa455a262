#!/bin/sh
# Makes an image like those that distributions publish for clouds: a partition with a boot loader, systemd and cloud-init. $1 is a
# folder for it, in which `cloud.qcow2` is made.
set -e
cd "$1"
packages=systemd-sysv,udev,dbus,linux-image-cloud-amd64,initramfs-tools,cloud-init,cloud-guest-utils,grub-pc-bin,grub-common
mmdebstrap --quiet --variant=minbase --include="$packages,iproute2,ifupdown,isc-dhcp-client,netbase,e2fsprogs" bookworm root
kernel=$(basename "$(ls -d root/boot/vmlinuz-* | tail -n 1)")
mkdir -p root/boot/grub
cat > root/boot/grub/grub.cfg <<END
linux /boot/$kernel root=/dev/vda1 ro console=ttyS0 no_timer_check
initrd /boot/initrd.img-${kernel#vmlinuz-}
boot
END
echo "/dev/vda1 / ext4 defaults 0 1" > root/etc/fstab
truncate -s 1900M partition
/usr/sbin/mke2fs -q -F -t ext4 -d root partition
truncate -s 1901M disk
# A table with one partition that boots: from sector 2048 on, 1900 MiB.
printf '\200\376\377\377\203\376\377\377\000\010\000\000\000\140\073\000' | dd of=disk bs=1 seek=446 conv=notrunc status=none
printf '\125\252' | dd of=disk bs=1 seek=510 conv=notrunc status=none
dd if=partition of=disk bs=1M seek=1 conv=notrunc,sparse status=none
# The first sector loads the next ones, which have what finds the rest.
loader="biosdisk part_msdos ext2 linux normal boot"
chroot root grub-mkimage -O i386-pc -p '(hd0,msdos1)/boot/grub' -o /core.img $loader
dd if=root/usr/lib/grub/i386-pc/boot.img of=disk bs=440 count=1 conv=notrunc status=none
dd if=root/core.img of=disk bs=512 seek=1 conv=notrunc status=none
qemu-img convert -f raw -O qcow2 disk cloud.qcow2
rm -rf root partition disk
