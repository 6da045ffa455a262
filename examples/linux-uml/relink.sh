#!/bin/sh
# Links a built kernel again with its object files in another order.
#
#   relink.sh ARCH LAYOUT SEED COMMAND...
#
# in the kernel's tree. ARCH is the folder of the linker script (um, x86), LAYOUT one of
#   kept      as the build laid them out
#   sorted    by name
#   aligned   kept, each from the beginning of a page
#   gapped    kept, with a gap of 17 cache lines before each
#   random    in an order drawn from SEED
# and COMMAND what links (make).
#
# The kernel's linker script takes the code of all object files at once. Here a line for each is put before that, so
# that each is taken in its turn. The script is put back afterwards, newer than the kernel: whatever is built next in
# this tree is linked as if this had never been.
set -eu

script=arch/$1/kernel/vmlinux.lds
layout=$2
seed=$3
shift 3

ar t vmlinux.a > .relink.objects
cp "$script" .relink.kept
put_back() {
	cp .relink.kept "$script"
	rm -f .relink.kept .relink.objects .relink.lines
}
trap put_back EXIT
trap 'exit 1' HUP INT TERM

case $layout in
kept | aligned | gapped) cat .relink.objects ;;
sorted) LC_ALL=C sort .relink.objects ;;
random)
	# Fisher and Yates's shuffle; the numbers are those of Park and Miller (1988), the same in every awk.
	awk -v seed="$seed" '
		function below(n) { state = state * 16807 % 2147483647; return int(state / 2147483647 * n) }
		{ object[NR] = $0 }
		END {
			state = seed % 2147483646 + 1
			for (i = 0; i < 20; i++) below(1)
			for (i = NR; i > 0; i--) {
				chosen = 1 + below(i)
				print object[chosen]
				object[chosen] = object[i]
			}
		}' .relink.objects
	;;
*)
	echo "relink.sh: no layout \`$layout'" >&2
	exit 2
	;;
esac | awk -v layout="$layout" '{
	if (layout == "aligned") print "\t. = ALIGN(4096);"
	if (layout == "gapped") print "\t. += 1088;"
	print "\t*" $0 "(.text)"
}' > .relink.lines

if [ "$layout" = kept ]; then
	: > .relink.lines
fi
awk -v lines=.relink.lines '
	!done && (at = index($0, "*(.text .text.fixup)")) {
		print substr($0, 1, at - 1)
		while ((getline line < lines) > 0) print line
		print substr($0, at)
		done = 1
		next
	}
	{ print }
	END { exit !done }' .relink.kept > "$script" || {
	echo "relink.sh: $script does not take .text as expected" >&2
	exit 1
}
"$@"
