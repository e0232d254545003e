import Crypto
import FoundationEssentials
import Glibc
import NIOSSL
import Posix
import SwiftASN1
import X509

/// The key and the certificate of the server. Without given ones it makes its own, signed by itself, once,
/// and keeps them in the user's configuration where nobody else can read them.
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
    fingerprint = ServerCertificate.fingerprint(try first.toDERBytes())
  }

  /// The server's own, for these names. Makes it if there is none, or if it lacks a name or has expired.
  init(ownFor names: Set<String>) throws {
    guard let configuration = BaseDirectory.config.path() else {
      throw Problem(description: "HOME is not set, so there is no place for the certificate.")
    }
    let directory = "\(configuration)/albumfs/gallery"
    let files = (certificate: "\(directory)/certificate.pem", key: "\(directory)/key.pem")
    if let kept = try? ServerCertificate(certificate: files.certificate, key: files.key),
      ServerCertificate.isGood(files.certificate, for: names)
    {
      self = kept
      return
    }
    do {
      try ServerCertificate.make(names, directory, files)
    } catch let error as Errno {
      throw Problem(description: "The certificate cannot be kept in \(directory): \(error).")
    }
    self = try ServerCertificate(certificate: files.certificate, key: files.key)
  }

  private static func fingerprint(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
      .joined(separator: ":")
  }

  private static func isGood(_ file: String, for names: Set<String>) -> Bool {
    guard let bytes = try? readWholeFile(file),
      let certificate = try? Certificate(pemEncoded: String(decoding: bytes, as: UTF8.self)),
      certificate.notValidAfter > Date(timeIntervalSinceNow: 86_400 * 7),
      let alternatives = try? certificate.extensions.subjectAlternativeNames
    else { return false }
    let wanted = Set(names.map { GeneralName.server($0).description })
    return wanted.isSubset(of: Set(alternatives.map(\.description)))
  }

  /// Phones refuse certificates that are valid for longer than 825 days.
  private static let life: TimeInterval = 86_400 * 820

  private static func make(
    _ names: Set<String>, _ directory: String, _ files: (certificate: String, key: String)
  ) throws {
    let key = P256.Signing.PrivateKey()
    let name = try DistinguishedName { CommonName("albumfs gallery") }
    let now = Date()
    let certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(),
      publicKey: Certificate.PublicKey(key.publicKey), notValidBefore: now - 3600,
      notValidAfter: now + life, issuer: name, subject: name,
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        Critical(BasicConstraints.notCertificateAuthority)
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage([.serverAuth])
        SubjectAlternativeNames(names.sorted().map(GeneralName.server))
      },
      issuerPrivateKey: Certificate.PrivateKey(key))
    var made = ""
    for part in directory.split(separator: "/") {
      made += "/" + part
      do throws(Errno) { try PathCalls.makePrivateDirectory(made) } catch {
        if !PathCalls.exists(made) { throw error }
      }
    }
    try write(key.pemRepresentation, to: files.key)
    try write(try certificate.serializeAsPEM().pemString, to: files.certificate)
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

extension GeneralName {
  /// A name of a server: an address or a host name.
  fileprivate static func server(_ name: String) -> GeneralName {
    guard let bytes = AddressText.bytes(name) else { return .dnsName(name) }
    return .ipAddress(ASN1OctetString(contentBytes: bytes[...]))
  }
}
