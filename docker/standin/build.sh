#!/usr/bin/env bash
# docker/standin/build.sh PYTHON: build heaproots/neo4j-standin:VERSION, a stand-in
# for the official neo4j:VERSION where no image can be pulled. Everything in it comes
# from packages: glibc and busybox from Debian, Java from PyPI, Neo4j from Maven.
# It supports NEO4J_AUTH, the NEO4J_* settings, uid 7474, the ports, /data and /logs,
# and logs the same lines as the official image. No APOC, HTTPS or *_FILE secrets.
#
# Needs apt-get and dpkg-deb, a Docker engine, and a PYTHON with heaproots[embedded].
set -euo pipefail
python=${1:?usage: build.sh PYTHON}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

mkdir -p "$work/debs" "$root"/{etc,tmp,data,logs,usr/{bin,sbin,lib,lib64}} \
         "$root"/var/lib/neo4j/{conf,import,lib,plugins,run}
# Merged as in Debian: some releases ship libc6 below /lib, some below /usr/lib.
ln -s usr/bin usr/sbin usr/lib usr/lib64 "$root"
chmod 1777 "$root/tmp"
(
  cd "$work/debs"
  # By default apt downloads as another user, who cannot write here.
  download=(apt-get -q -o APT::Sandbox::User=root download libc6 busybox-static)
  "${download[@]}" > log 2>&1 || {
    apt-get -q update >> log 2>&1 && "${download[@]}" >> log 2>&1
  } || { cat log >&2; exit 1; }
)
for deb in "$work"/debs/*.deb; do
  dpkg-deb --fsys-tarfile "$deb" |
    tar -x -C "$root" --keep-directory-symlink --exclude='./usr/share/*'
done
busybox=$root/usr/bin/busybox
for applet in $("$busybox" --list); do
  [ -e "$root/usr/bin/$applet" ] || ln -s busybox "$root/usr/bin/$applet"
done

echo 'root:x:0:0::/:/bin/sh
neo4j:x:7474:7474::/var/lib/neo4j:/bin/sh' > "$root/etc/passwd"
echo 'root:x:0:
neo4j:x:7474:' > "$root/etc/group"
install -m 755 "$here/entry.sh" "$root/entry.sh"
version=$("$python" "$here/fill.py" "$root")

image=heaproots/neo4j-standin:$version
old=$(docker images --quiet "$image")
tar -c -C "$root" --owner=7474 --group=7474 --numeric-owner . |
  docker import \
    --change 'USER 7474:7474' \
    --change 'WORKDIR /var/lib/neo4j' \
    --change 'ENV NEO4J_HOME=/var/lib/neo4j NEO4J_CONF=/var/lib/neo4j/conf PATH=/usr/bin:/usr/sbin:/opt/java/bin' \
    --change 'VOLUME /data /logs' \
    --change 'EXPOSE 7474 7687' \
    --change 'ENTRYPOINT ["/entry.sh"]' \
    --change 'LABEL org.opencontainers.image.description="A stand-in for neo4j:'"$version"', made from packages: no APOC, HTTPS or *_FILE secrets"' \
    --change 'LABEL heaproots.standin=true' \
    - "$image" > "$work/id"
# The previous image has lost its tag: remove it, unless a container uses it.
[ -z "$old" ] || docker rmi "$old" > /dev/null 2>&1 || true
echo "built $image, a STAND-IN for neo4j:$version: no APOC, HTTPS or *_FILE secrets" >&2
echo "$image"
