"""The server of a test of responsiveness: nginx with HTTP/2 and TLS, files of one byte and of 8 GB,
and the configuration that tells clients where they are (draft-ietf-ippm-responsiveness-09,
"Responsiveness Test Server API").
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Final

from sojourn_demo import DemoError
from sojourn_demo.load.commands import ENDS_WITH_PARENT
from sojourn_demo.load.network_quality import CONFIGURATION
from sojourn_demo.programs import Programs

NGINX: Final = "nginx"
OPENSSL: Final = "openssl"
PORT: Final = 8443
LARGE: Final = Path("files/large")
LARGE_BYTES: Final = 8 << 30
"""A sparse file; more than any test takes."""
CERTIFICATE_DAYS: Final = 2
PID: Final = "nginx.pid"
NOT_SENT_BYTES: Final = 16_384
"""What a connection may hold that is not sent: a frame of HTTP/2, as in the lab's own test. Without
it the probe inside a connection waits behind megabytes in the sender (TCP_NOTSENT_LOWAT, which the
draft asks for)."""
INHERITED: Final = "NGINX"
"""Environment in which nginx finds numbers of open sockets, each followed by `;`: so it has options
that its configuration cannot set."""
PIECE: Final = "4k"
"""Size of frames, TLS records and reads: a probe is answered between two of them."""


def configuration(address: str) -> dict[str, object]:
    """What the client reads first; `address` has the port."""
    urls = {
        "small_https_download_url": f"https://{address}/small",
        "large_https_download_url": f"https://{address}/large",
        # Refused: no pipeline here changes the uplink.
        "https_upload_url": f"https://{address}/upload",
    }
    return {"version": 1, "urls": urls}


def settings(folder: Path) -> str:
    """The configuration of nginx, all of whose files are in `folder`."""
    temporary = "".join(
        f'  {kind}_temp_path "{folder}/{kind}";\n'
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        # Else a worker of root's nginx is nobody, who may not read a folder of root's.
        f"{'user root;' if os.geteuid() == 0 else ''}\n"
        # Without a master nginx 1.22 crashes on an inherited socket.
        f'daemon off;\nworker_processes 1;\npid "{folder}/{PID}";\n'
        "events { worker_connections 4096; }\n"
        f"http {{\n{temporary}"
        "  access_log off;\n  default_type application/octet-stream;\n"
        f"  sendfile off;\n  output_buffers 1 {PIECE};\n  postpone_output 0;\n"
        f"  http2_chunk_size {PIECE};\n"
        "  server {\n"
        f'    listen {PORT} ssl http2;\n    root "{folder}/files";\n'
        f'    ssl_certificate "{folder}/certificate.pem";\n'
        f'    ssl_certificate_key "{folder}/key.pem";\n'
        f"    ssl_buffer_size {PIECE};\n    ssl_session_cache off;\n"
        "  }\n}\n"
    )


def listener(port: int, congestion_control: str | None) -> socket.socket:
    """A socket that listens on `port`, its connections with this congestion control, the kernel's
    default without."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, NOT_SENT_BYTES)
    if congestion_control is not None:
        name = congestion_control.encode()
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
    listening.bind(("", port))
    listening.listen()
    return listening


async def start(
    programs: Programs, folder: Path, address: str, congestion_control: str | None
) -> None:
    """Starts the server at `address` with its files in `folder`; its connections are as those of
    `listener`.

    Raises:
        DemoError: It does not start.
    """
    files = folder / "files"
    entry = files / CONFIGURATION.removeprefix("/")
    entry.parent.mkdir(parents=True)
    entry.write_text(json.dumps(configuration(f"{address}:{PORT}")))
    (files / "small").write_bytes(b"x")
    with (folder / LARGE).open("wb") as large:
        large.truncate(LARGE_BYTES)
    _certify(folder, address)
    (folder / "nginx.conf").write_text(settings(folder))
    words = (NGINX, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf"))
    with listener(PORT, congestion_control) as inherited:
        server = programs.spawn(
            (*ENDS_WITH_PARENT, *words),
            name=NGINX,
            environment={**os.environ, INHERITED: f"{inherited.fileno()};"},
            inherited=(inherited.fileno(),),
            has_ready_line=False,
        )
    # Written when its socket is open.
    await programs.wait_until(server, (folder / PID).exists)


def _certify(folder: Path, address: str) -> None:
    """A key and a certificate for `address` that it signs itself; the client does not verify it."""
    words = (
        *(OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-days", str(CERTIFICATE_DAYS), "-subj", "/CN=demo"),
        *("-addext", f"subjectAltName=IP:{address}"),
        *("-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")),
    )
    done = subprocess.run(  # noqa: S603 - a program on PATH
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise DemoError(f"{OPENSSL}: {done.stderr.strip().splitlines()[-1:]}")
