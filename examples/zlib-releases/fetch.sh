# Puts the sources of a release of zlib into this folder, out of a crate that has them: fetch.sh RELEASE
set -eu
case $1 in
1.2.8) crate=libz-sys version=1.0.5 ;;
1.2.11) crate=libz-sys version=1.0.18 ;;
1.2.12) crate=libgit2-sys version=0.14.0+1.5.0 ;;
1.2.13) crate=libz-sys version=1.1.9 ;;
1.3) crate=libz-sys version=1.1.14 ;;
1.3.1) crate=libz-sys version=1.1.24 ;;
1.3.2) crate=libz-sys version=1.1.31 ;;
*) echo "no crate is known that has zlib $1" >&2 && exit 1 ;;
esac
cargo info --quiet "$crate@$version" > /dev/null
header=$(find "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$crate-$version" -name zlib.h -not -path '*zlib-ng*' | head -n 1)
grep -q "define ZLIB_VERSION \"$1\"" "$header"
cp "$(dirname "$header")"/*.[ch] .
