"""A mail server that keeps mails as files: mail_server.py FOLDER PORT [CERTIFICATE KEY]; with these it demands STARTTLS."""

import pathlib
import ssl
import sys

from aiosmtpd.controller import Controller


class Keeper:
    async def handle_DATA(self, server, session, envelope):
        number = len(list(folder.glob("*.eml")))
        (folder / f"{number}.part").write_bytes(envelope.content)
        (folder / f"{number}.to").write_text(" ".join(envelope.rcpt_tos))
        (folder / f"{number}.part").rename(folder / f"{number}.eml")
        return "250 kept"

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"


folder, port, tls = pathlib.Path(sys.argv[1]), int(sys.argv[2]), {}
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    tls = {"tls_context": context, "require_starttls": True}
controller = Controller(Keeper(), hostname="127.0.0.1", port=port, **tls)
controller.start()
print("ready", flush=True)
sys.stdin.read()
controller.stop()
