#!/bin/sh
# debian-base.sh ROOT: makes a base image of unpacked Debian packages: no shell, no package manager.
#
# A hook of mmdebstrap; no maintainer script has run. /var/lib/dpkg/status.d names the packages and
# their versions for vulnerability scanners.
set -eu
cd "$1"

mkdir -p var/lib/dpkg/status.d
for deb in var/cache/apt/archives/*.deb; do
  dpkg-deb --field "$deb" >"var/lib/dpkg/status.d/$(dpkg-deb --field "$deb" Package)"
done

# Maintainer scripts would concatenate the certificates and create these files.
mkdir -p etc/ssl/certs tmp proc sys run
find usr/share/ca-certificates -name '*.crt' | LC_ALL=C sort | xargs cat >etc/ssl/certs/ca-certificates.crt
echo 'root:x:0:0:root:/root:/sbin/nologin
nonroot:x:65532:65532:nonroot:/var/lib/sojourn:/sbin/nologin' >etc/passwd
echo 'root:x:0:
nonroot:x:65532:' >etc/group
echo 'hosts: files dns' >etc/nsswitch.conf
chmod 1777 tmp

# Dependencies of maintainer scripts, and what people read.
rm -rf bin/tar usr/bin/c_rehash usr/bin/debconf* usr/bin/dpkg* usr/bin/openssl usr/bin/py3* \
  usr/bin/update-alternatives usr/sbin sbin \
  usr/lib/dpkg usr/lib/mime usr/lib/tar usr/lib/binfmt.d usr/share/perl5 usr/share/debconf \
  usr/share/dpkg usr/share/ca-certificates usr/share/locale usr/share/man usr/share/info \
  usr/share/lintian usr/share/bash-completion usr/share/bug usr/share/gdb usr/share/polkit-1 \
  usr/share/pixmaps usr/share/applications usr/share/python3 usr/share/readline \
  usr/lib/*/gconv etc/cron.daily etc/logrotate.d etc/debconf.conf etc/hostname etc/resolv.conf etc/fstab
for unpacked_for_scripts in debconf dpkg openssl tar; do
  rm -f "var/lib/dpkg/status.d/$unpacked_for_scripts"
done
find usr/share/doc -type f ! -name copyright -delete
find usr/share/doc -type d -empty -delete

# Bytecode, because the root of a container is read-only; without timestamps.
if [ -e usr/bin/python3 ]; then
  chroot . /usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash usr/lib/python3.*
fi
