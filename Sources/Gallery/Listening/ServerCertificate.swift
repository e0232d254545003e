import AlbumModel
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
  /// When it stops to be valid, in seconds since 1970.
  private let end: time_t
  /// The servers that it is for.
  let names: Set<ServerName>

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
      .map { Hexadecimal.text($0).uppercased() }
      .joined(separator: ":")
    names = Set(first._subjectAlternativeNames().compactMap(ServerName.init))
    end = first.notValidAfter
  }

  /// The server's own, for these names. Makes it if there is none, or if it lacks a name or has expired.
  init(ownFor names: Set<String>) throws {
    guard let configuration = BaseDirectory.config.path() else {
      throw Problem(description: "HOME is not set, so there is no place for the certificate.")
    }
    let directory = "\(configuration)/albumfs/gallery"
    let files = (certificate: "\(directory)/certificate.pem", key: "\(directory)/key.pem")
    if let kept = try? ServerCertificate(certificate: files.certificate, key: files.key),
      kept.isOne, kept.isGood(for: names)
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

  /// True if the key is that of the certificate: a crash may leave the new key beside the old certificate.
  private var isOne: Bool {
    let both = TLSConfiguration.makeServerConfiguration(
      certificateChain: certificates, privateKey: key)
    return (try? NIOSSLContext(configuration: both)) != nil
  }

  private func isGood(for wanted: Set<String>) -> Bool {
    let soon = SystemClock.wall().seconds + 7 * 86_400
    return Int64(end) > soon && names.isSuperset(of: wanted.compactMap(ServerName.init))
  }

  /// Phones refuse certificates that are valid for longer than 825 days.
  private static let days = 820

  /// Runs OpenSSL, which writes both over a pipe, so that this program alone makes files.
  private static func make(_ names: Set<String>) throws(Problem) -> (
    key: String, certificate: String
  ) {
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
      "subjectAltName=" + names.sorted().compactMap(alternative).joined(separator: ","),
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

  /// A name in the words of OpenSSL; nil for what no certificate can have.
  private static func alternative(_ text: String) -> String? {
    switch ServerName(text) {
    case .address?: "IP:" + text
    case .host?: "DNS:" + text
    case nil: nil
    }
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

extension ServerName {
  fileprivate init?(_ name: _SubjectAlternativeName) {
    switch name.nameType {
    case .ipAddress: self = .address(Array(name.contents))
    case .dnsName: self = .host(String(decoding: name.contents, as: UTF8.self).lowercased())
    default: return nil
    }
  }
}
