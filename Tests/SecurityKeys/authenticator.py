#!/usr/bin/env python3
"""A FIDO2 security key in software, for the tests of albumfs-fido2: CTAPHID over a Unix socket.

  authenticator.py SOCKET [--pin 1234 | --no-pin | --verifies-user] [--protocol 1|2] [--touch S|never|endless]
                          [--no-hmac-secret] [--full] [--retries N] [--hostile KIND]

It implements the part of CTAP 2.1 that albumfs uses: getInfo, clientPIN, makeCredential with rk and hmac-secret, and
getAssertion with hmac-secret. It serves connections one after the other, and keeps its credentials until it ends.
It prints a line for each credential that it makes and each secret that it gives,
and when a connection ends.
"""
import argparse
import hashlib
import hmac
import os
import select
import signal
import socket
import struct
import time

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

REPORT = 64
BROADCAST = 0xFFFFFFFF
INIT, CBOR, CANCEL, KEEPALIVE, ERROR = 0x86, 0x90, 0x91, 0xBB, 0xBF
USER_PRESENT, USER_VERIFIED, HAS_CREDENTIAL, HAS_EXTENSIONS = 1, 4, 0x40, 0x80
HOSTILE = ("silent", "mute", "garbage", "endless-message", "short-secret", "long-secret", "no-verification", "gone")


class Refusal(Exception):
    """A CTAP2 status code other than success."""


class Gone(Exception):
    """The other side closed the connection."""


class Protocol:
    """The cryptography of one PIN/UV auth protocol, with one shared secret."""

    def __init__(self, number, private, peer):
        x, y = peer[-2], peer[-3]
        public = ec.EllipticCurvePublicNumbers(
            int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1()).public_key()
        z = private.exchange(ec.ECDH(), public)
        self.number = number
        if number == 1:
            self.mac_key = self.cipher_key = hashlib.sha256(z).digest()
        else:
            self.mac_key = self.derived(z, b"CTAP2 HMAC key")
            self.cipher_key = self.derived(z, b"CTAP2 AES key")

    @staticmethod
    def derived(z, info):
        return HKDF(hashes.SHA256(), 32, bytes(32), info).derive(z)

    def encrypt(self, data):
        vector = bytes(16) if self.number == 1 else os.urandom(16)
        worker = Cipher(algorithms.AES(self.cipher_key), modes.CBC(vector)).encryptor()
        sealed = worker.update(data) + worker.finalize()
        return sealed if self.number == 1 else vector + sealed

    def decrypt(self, data):
        vector, sealed = (bytes(16), data) if self.number == 1 else (data[:16], data[16:])
        worker = Cipher(algorithms.AES(self.cipher_key), modes.CBC(vector)).decryptor()
        return worker.update(sealed) + worker.finalize()

    @staticmethod
    def tag(number, key, data):
        full = hmac.new(key, data, hashlib.sha256).digest()
        return full[:16] if number == 1 else full


class Key:
    """The state of a key: its PIN, its credentials, and how it behaves."""

    def __init__(self, options):
        self.options = options
        self.pin = None if options.no_pin or options.verifies_user else options.pin
        self.retries = options.retries
        self.wrong_in_a_row = 0
        self.credentials = {}
        self.agreement = ec.generate_private_key(ec.SECP256R1())
        self.token = os.urandom(32)

    def answer(self, message, wait_for_touch):
        command, body = message[0], message[1:]
        request = cbor2.loads(body) if body else {}
        handler = {1: self.make, 2: self.assertion, 4: self.info, 6: self.client_pin}.get(command)
        try:
            if handler is None:
                raise Refusal(0x01)
            reply = handler(request, wait_for_touch)
        except Refusal as refusal:
            return bytes([refusal.args[0]])
        return b"\0" + (cbor2.dumps(reply) if reply else b"")

    def info(self, _request, _wait):
        options = {"rk": True, "up": True, "clientPin": self.pin is not None, "pinUvAuthToken": True}
        if self.options.verifies_user:
            options["uv"] = True
        extensions = ["credProtect"] + ([] if self.options.no_hmac_secret else ["hmac-secret"])
        return {1: ["FIDO_2_0", "FIDO_2_1"], 2: extensions, 3: bytes(16), 4: options, 5: 1200,
                6: [self.options.protocol]}

    def client_pin(self, request, _wait):
        action = request[2]
        if action == 1:
            return {3: self.retries}
        if action == 2:
            return {1: self.public_agreement()}
        if action in (5, 9):
            return self.pin_token(request)
        if action == 6 and self.options.verifies_user:
            return self.sealed_token(request)
        raise Refusal(0x3E)

    def sealed_token(self, request):
        protocol = Protocol(request[1], self.agreement, request[3])
        self.token = os.urandom(32)
        return {2: protocol.encrypt(self.token)}

    def public_agreement(self):
        numbers = self.agreement.public_key().public_numbers()
        return {1: 2, 3: -25, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}

    def pin_token(self, request):
        if self.pin is None:
            raise Refusal(0x35)
        if self.retries == 0:
            raise Refusal(0x32)
        if self.wrong_in_a_row >= 3:
            raise Refusal(0x34)
        protocol = Protocol(request[1], self.agreement, request[3])
        typed = protocol.decrypt(request[6])
        if typed == hashlib.sha256(self.pin.encode()).digest()[:16]:
            self.retries, self.wrong_in_a_row = 8, 0
            return self.sealed_token(request)
        self.retries -= 1
        self.wrong_in_a_row += 1
        self.agreement = ec.generate_private_key(ec.SECP256R1())
        raise Refusal(0x32 if self.retries == 0 else 0x34 if self.wrong_in_a_row >= 3 else 0x31)

    def verify(self, request, tag, number, client_data):
        """Returns whether the user is verified."""
        if tag not in request:
            return self.options.verifies_user
        expected = Protocol.tag(request[number], self.token, client_data)
        if not hmac.compare_digest(expected, request[tag]):
            raise Refusal(0x33)
        return True

    def make(self, request, wait_for_touch):
        if request.get(8) == b"":
            # With this command a platform lets its user choose among several keys.
            wait_for_touch()
            raise Refusal(0x35 if self.pin is None else 0x31)
        is_verified = self.verify(request, 8, 9, request[1])
        if self.options.full:
            raise Refusal(0x28)
        wait_for_touch()
        party, user = request[2]["id"], request[3]["id"]
        private = ec.generate_private_key(ec.SECP256R1())
        identity = os.urandom(32)
        secrets = {True: os.urandom(32), False: os.urandom(32)}
        self.credentials[party, user] = (identity, private, secrets)
        print(f"made {party}", flush=True)
        numbers = private.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        flags = USER_PRESENT | HAS_CREDENTIAL | HAS_EXTENSIONS | (USER_VERIFIED if is_verified else 0)
        extensions = {name: True if name == "hmac-secret" else value for name, value in request.get(6, {}).items()}
        data = (hashlib.sha256(party.encode()).digest() + struct.pack(">BI", flags, 1) + bytes(16)
                + struct.pack(">H", len(identity)) + identity + cbor2.dumps(public) + cbor2.dumps(extensions))
        signature = private.sign(data + request[1], ec.ECDSA(hashes.SHA256()))
        return {1: "packed", 2: data, 3: {"alg": -7, "sig": signature}}

    def assertion(self, request, wait_for_touch):
        is_verified = self.verify(request, 6, 7, request[2])
        found = [(user, value) for (party, user), value in self.credentials.items() if party == request[1]]
        # A key that protects its credentials hides them from a client without the PIN.
        if not found or not is_verified:
            raise Refusal(0x2E)
        wait_for_touch()
        user, (identity, private, secrets) = found[0]
        asked = request[4]["hmac-secret"]
        protocol = Protocol(asked.get(4, 1), self.agreement, asked[1])
        if Protocol.tag(protocol.number, protocol.mac_key, asked[2]) != asked[3]:
            raise Refusal(0x33)
        salt = protocol.decrypt(asked[2])
        secret = hmac.new(secrets[is_verified], salt, hashlib.sha256).digest()
        secret = {"short-secret": secret[:16], "long-secret": secret * 9}.get(self.options.hostile, secret)
        print("gave a secret", flush=True)
        if self.options.hostile == "no-verification":
            is_verified = False
        flags = USER_PRESENT | HAS_EXTENSIONS | (USER_VERIFIED if is_verified else 0)
        data = (hashlib.sha256(request[1].encode()).digest() + struct.pack(">BI", flags, 2)
                + cbor2.dumps({"hmac-secret": protocol.encrypt(secret)}))
        signature = private.sign(data + request[2], ec.ECDSA(hashes.SHA256()))
        return {1: {"id": identity, "type": "public-key"}, 2: data, 3: signature, 4: {"id": user}}


class Connection:
    """CTAPHID on one connection."""

    def __init__(self, stream, key):
        self.stream, self.key = stream, key
        self.channel = 0

    def report(self):
        data = b""
        while len(data) < REPORT:
            part = self.stream.recv(REPORT - len(data))
            if not part:
                raise Gone()
            data += part
        return data

    def message(self):
        first = self.report()
        channel, command, length = struct.unpack(">IBH", first[:7])
        data = first[7:]
        while len(data) < length:
            data += self.report()[5:]
        return channel, command, data[:length]

    def send(self, channel, command, data):
        self.stream.sendall((struct.pack(">IBH", channel, command, len(data)) + data[:57]).ljust(REPORT, b"\0"))
        for number, start in enumerate(range(57, len(data), 59)):
            self.stream.sendall(
                (struct.pack(">IB", channel, number & 0x7F) + data[start:start + 59]).ljust(REPORT, b"\0"))

    def wait_for_touch(self):
        touch = self.key.options.touch
        end = {"never": time.monotonic() + 1, "endless": float("inf")}.get(touch)
        if end is None:
            end = time.monotonic() + float(touch)
        while time.monotonic() < end:
            self.send(self.channel, KEEPALIVE, b"\2")
            pause = min(0.1, max(0.0, end - time.monotonic()))
            if select.select([self.stream], [], [], pause)[0]:
                if self.message()[1] == CANCEL:
                    raise Refusal(0x2D)
        if touch == "never":
            raise Refusal(0x2F)

    def serve(self):
        hostile = self.key.options.hostile
        while True:
            channel, command, data = self.message()
            if hostile == "mute":
                continue
            if command == INIT:
                self.channel = 0x01020304
                self.send(channel, INIT, data[:8] + struct.pack(">IBBBBB", self.channel, 2, 1, 0, 0, 4 | 8))
            elif command == CBOR:
                if data[0] != 4 and hostile:
                    self.misbehave(hostile)
                self.send(channel, CBOR, self.key.answer(data, self.wait_for_touch))
            elif command != CANCEL:
                self.send(channel, ERROR, b"\1")

    def misbehave(self, hostile):
        if hostile == "silent":
            signal.pause()
        elif hostile == "gone":
            raise Gone()
        elif hostile == "garbage":
            for _ in range(64):
                self.send(self.channel, CBOR, b"\0" + os.urandom(200))
        elif hostile == "endless-message":
            self.send(self.channel, CBOR, bytes(57))
            while True:
                header = struct.pack(">IBH", self.channel, CBOR, 0xFFFF)
                self.stream.sendall(header + os.urandom(57))
                for number in range(0x80):
                    self.stream.sendall(struct.pack(">IB", self.channel, number) + os.urandom(59))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("--pin", default="1234")
    parser.add_argument("--no-pin", action="store_true")
    parser.add_argument("--verifies-user", action="store_true")
    parser.add_argument("--protocol", type=int, default=2, choices=(1, 2))
    parser.add_argument("--retries", type=int, default=8)
    parser.add_argument("--touch", default="0")
    parser.add_argument("--no-hmac-secret", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--hostile", choices=HOSTILE)
    options = parser.parse_args()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(options.socket)
    listener.listen()
    key = Key(options)
    print("ready", flush=True)
    while True:
        stream = listener.accept()[0]
        try:
            Connection(stream, key).serve()
        except (Gone, OSError):
            pass
        stream.close()
        print("closed", flush=True)


main()
