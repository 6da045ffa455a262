#!/bin/sh
# IPsec in transport mode between two hosts, with keys that everybody knows: for measuring, and for nothing else.
#
#   esp.sh up null|gcm HERE THERE     null: HMAC-SHA256 without a cipher; gcm: AES-128 in Galois/Counter Mode
#   esp.sh down
set -eu

up() {
	case $1 in
	null) set -- "$2" "$3" auth 'hmac(sha256)' 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f enc 'ecb(cipher_null)' '' ;;
	gcm) set -- "$2" "$3" aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128 ;;
	*)
		echo "esp.sh: no way \`$1': expected null or gcm" >&2
		exit 2
		;;
	esac
	here=$1 there=$2
	shift 2
	ip xfrm state add src "$here" dst "$there" proto esp spi 0x1000 mode transport "$@"
	ip xfrm state add src "$there" dst "$here" proto esp spi 0x1000 mode transport "$@"
	ip xfrm policy add src "$here" dst "$there" dir out tmpl src "$here" dst "$there" proto esp mode transport
	ip xfrm policy add src "$there" dst "$here" dir in tmpl src "$there" dst "$here" proto esp mode transport
}

case ${1-} in
up)
	shift
	up "$@"
	;;
down)
	ip xfrm policy flush
	ip xfrm state flush
	;;
*)
	echo "usage: esp.sh up null|gcm HERE THERE | esp.sh down" >&2
	exit 2
	;;
esac
