import FoundationEssentials
import Glibc
import NIOSSL
import Posix

/// The key and the certificate of the server. Without given ones it has its own, signed by itself: OpenSSL
/// makes it once, and it lies in the user's configuration where nobody else can read it.
struct ServerCertificate {
  let certificates: [NIOSSLCertificateSource]
  let key: NIOSSLPrivateKeySource
  /// SHA-256 of the certificate, in hexadecimal.
  let fingerprint: String

  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  /// Reads given files in PEM.
  init(certificate: String, key: String) throws {
    let chain: [NIOSSLCertificate]
    do {
      chain = try NIOSSLCertificate.fromPEMFile(certificate)
      self.key = .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
    } catch {
      throw Problem(description: "\(certificate) and \(key) are no certificate and key in PEM.")
    }
    guard let first = chain.first else {
      throw Problem(description: "\(certificate) has no certificate.")
    }
    certificates = chain.map { .certificate($0) }
    fingerprint = SHA256.hash(try first.toDERBytes())
      .map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
      .joined(separator: ":")
  }

  /// The server's own, for these names. Makes it if there is none, or if it lacks a name or has expired.
  init(ownFor names: Set<String>) throws {
    guard let configuration = BaseDirectory.config.path() else {
      throw Problem(description: "HOME is not set, so there is no place for the certificate.")
    }
    let directory = "\(configuration)/albumfs/gallery"
    let files = (certificate: "\(directory)/certificate.pem", key: "\(directory)/key.pem")
    // What no certificate can have is not asked of this one.
    let names = Set(names.compactMap(Name.init))
    if let kept = try? ServerCertificate(certificate: files.certificate, key: files.key),
      kept.isOne, ServerCertificate.isGood(files.certificate, for: names)
    {
      self = kept
      return
    }
    let made = try ServerCertificate.make(names)
    do throws(Errno) {
      try ServerCertificate.makePrivate(directory)
      try ServerCertificate.write(made.key, to: files.key)
      try ServerCertificate.write(made.certificate, to: files.certificate)
    } catch {
      throw Problem(description: "The certificate cannot be kept in \(directory): \(error).")
    }
    self = try ServerCertificate(certificate: files.certificate, key: files.key)
  }

  /// A name of a server, as a certificate has it.
  private struct Name: Hashable {
    /// The 4 or 16 bytes of an address, or the characters of a host name.
    var bytes: [UInt8]
    var isAddress: Bool
    /// The words of OpenSSL's subjectAltName.
    var text: String { (isAddress ? "IP:" : "DNS:") + spelling }
    private var spelling = ""

    /// nil for a text that is neither an address nor a host name.
    init?(_ text: String) {
      let address = AddressText.bytes(text)
      let isHostName =
        !text.isEmpty
        && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
      guard address != nil || isHostName else { return nil }
      (bytes, isAddress, spelling) = (address ?? Array(text.utf8), address != nil, text)
    }

    init?(_ name: _SubjectAlternativeName) {
      if name.nameType != .dnsName, name.nameType != .ipAddress { return nil }
      (bytes, isAddress) = (Array(name.contents), name.nameType == .ipAddress)
    }

    static func == (one: Name, other: Name) -> Bool {
      one.isAddress == other.isAddress && one.bytes == other.bytes
    }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
  }

  /// True if the key is that of the certificate: a crash may leave the new key beside the old certificate.
  private var isOne: Bool {
    let both = TLSConfiguration.makeServerConfiguration(
      certificateChain: certificates, privateKey: key)
    return (try? NIOSSLContext(configuration: both)) != nil
  }

  private static func isGood(_ file: String, for names: Set<Name>) -> Bool {
    guard let certificate = try? NIOSSLCertificate.fromPEMFile(file).first else { return false }
    let soon = Date(timeIntervalSinceNow: 86_400 * 7).timeIntervalSince1970
    return Double(certificate.notValidAfter) > soon
      && names.isSubset(of: certificate._subjectAlternativeNames().compactMap(Name.init))
  }

  /// Phones refuse certificates that are valid for longer than 825 days.
  private static let days = 820

  /// Runs OpenSSL, which writes both over a pipe, so that this program alone makes files.
  private static func make(_ names: Set<Name>) throws(Problem) -> (key: String, certificate: String)
  {
    guard let program = Subprocess.find("openssl") else {
      throw Problem(
        description: """
          openssl is missing, which makes the gallery's certificate. Install the package openssl, or give \
          a certificate of your own with --certificate and --key.
          """)
    }
    let extensions = [
      "basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature",
      "extendedKeyUsage=serverAuth",
      "subjectAltName=" + names.map(\.text).sorted().joined(separator: ","),
    ]
    let order =
      [
        program, "req", "-x509", "-config", "/dev/null", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:P-256", "-sha256", "-nodes", "-days", String(days), "-subj",
        "/CN=albumfs gallery",
      ] + extensions.flatMap { ["-addext", $0] }
    let (code, output) = (try? Subprocess.run(order, input: [])) ?? (code: 127, output: [])
    let text = String(decoding: output, as: UTF8.self)
    guard code == 0, let key = block("PRIVATE KEY", of: text),
      let certificate = block("CERTIFICATE", of: text)
    else {
      throw Problem(
        description: """
          \(program) made no certificate (it ended with \(code)): the gallery needs OpenSSL 1.1.1 or later. \
          Or give a certificate of your own with --certificate and --key.
          """)
    }
    return (key, certificate)
  }

  /// One part of a text in PEM.
  private static func block(_ label: String, of text: String) -> String? {
    let (begin, end) = ("-----BEGIN \(label)-----", "-----END \(label)-----")
    guard let start = text.firstRange(of: begin)?.lowerBound,
      let limit = text.firstRange(of: end)?.upperBound, start < limit
    else { return nil }
    return String(text[start..<limit])
  }

  private static func makePrivate(_ directory: String) throws(Errno) {
    var made = ""
    for part in directory.split(separator: "/") {
      made += "/" + part
      do throws(Errno) { try PathCalls.makePrivateDirectory(made) } catch {
        if !PathCalls.exists(made) { throw error }
      }
    }
  }

  /// Replaces a file that only the user can read, so that a crash leaves the old one or the new one.
  private static func write(_ text: String, to path: String) throws(Errno) {
    let new = path + ".new"
    do throws(Errno) { try PathCalls.removeFile(new) } catch {
      if error != .noEntry { throw error }
    }
    let file = try FileDescriptor(
      open: new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: 0o600)
    try file.writeAll(Array((text + "\n").utf8))
    try file.synchronize()
    try PathCalls.rename(new, over: path)
  }
}
