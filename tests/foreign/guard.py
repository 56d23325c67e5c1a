"""A validating webhook that forbids: `guard.py CERTIFICATE KEY`. Says on which port it listens."""

from __future__ import annotations

import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Guard(BaseHTTPRequestHandler):
    """Says no to everything, and to whom."""

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        request = review["request"]
        message = (
            f"no {request['object']['metadata']['name']} for {request['userInfo']['username']}"
        )
        answer = {
            "uid": request["uid"],
            "allowed": False,
            "status": {"code": 403, "message": message},
        }
        body = json.dumps({**review, "request": None, "response": answer}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = HTTPServer(("127.0.0.1", 0), Guard)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(*sys.argv[1:])
server.socket = context.wrap_socket(server.socket, server_side=True)
sys.stdout.write(f"{server.server_port}\n")
sys.stdout.flush()
server.serve_forever()
