#!/bin/sh
# A gateway of two that speak IPsec (ESP in tunnel mode) with each other, with keys that everybody knows: for measuring, and
# for nothing else.
#
#   gateway.sh up CIPHER PROCESSORS HERE THERE NET-HERE NET-THERE
#   gateway.sh down
#
# CIPHER   none          forwards, no IPsec
#          null          IPsec without encryption and authentication: the weight of the framework
#          aes-cbc-sha1  AES-128 in cipher block chaining, HMAC-SHA1
#          aes-gcm       AES-128 in Galois/Counter Mode
#          chacha20      ChaCha20-Poly1305
# PROCESSORS    works on so many processors; the others are offline until `down`
set -eu

key=000102030405060708090a0b0c0d0e0f
cpus=/sys/devices/system/cpu

use_processors() {
	if [ "$1" -gt "$(nproc)" ]; then
		echo "gateway.sh: $1 processors are wanted, and this kernel has $(nproc)" >&2
		exit 1
	fi
	for online in "$cpus"/cpu[1-9]*/online; do
		number=${online%/online}
		number=${number##*/cpu}
		if [ "$number" != '*' ] && [ "$number" -ge "$1" ]; then
			echo 0 > "$online"
		fi
	done
}

up() {
	cipher=$1 here=$3 there=$4 net_here=$5 net_there=$6
	use_processors "$2"
	case $cipher in
	none) return ;;
	null) set -- enc 'ecb(cipher_null)' '' auth digest_null '' ;;
	aes-cbc-sha1) set -- enc 'cbc(aes)' 0x$key auth 'hmac(sha1)' 0x${key}10111213 ;;
	aes-gcm) set -- aead 'rfc4106(gcm(aes))' 0x${key}10111213 128 ;;
	chacha20) set -- aead 'rfc7539esp(chacha20,poly1305)' 0x$key${key}10111213 128 ;;
	*)
		echo "gateway.sh: no cipher \`$cipher'" >&2
		exit 2
		;;
	esac
	ip xfrm state add src "$here" dst "$there" proto esp spi 0x1000 mode tunnel "$@"
	ip xfrm state add src "$there" dst "$here" proto esp spi 0x1000 mode tunnel "$@"
	ip xfrm policy add src "$net_here" dst "$net_there" dir out tmpl src "$here" dst "$there" proto esp mode tunnel
	for dir in in fwd; do
		ip xfrm policy add src "$net_there" dst "$net_here" dir $dir tmpl src "$there" dst "$here" proto esp mode tunnel
	done
}

case ${1-} in
up)
	shift
	up "$@"
	;;
down)
	ip xfrm policy flush
	ip xfrm state flush
	for online in "$cpus"/cpu[1-9]*/online; do
		[ ! -e "$online" ] || echo 1 > "$online"
	done
	;;
*)
	echo "usage: gateway.sh up CIPHER PROCESSORS HERE THERE NET-HERE NET-THERE | gateway.sh down" >&2
	exit 2
	;;
esac
