import Foundation
import Glibc
package import ObjectStores

/// A real object storage on this machine: SeaweedFS, which `scripts/dependencies --tests` installs. It runs
/// as long as the process of the tests, which all share it. With ALBUMFS_OBJECT_SERVER=HOST:PORT it is
/// another server, which knows the same user.
package final class ObjectServer: Sendable {
  package struct Missing: Error, CustomStringConvertible {
    package var description: String
  }

  package static let accessKey = "albumkey"
  package static let secretKey = "albumsecret"

  /// The server of this process.
  package static func shared() throws -> ObjectServer { try running.get() }

  private static let running = Result { try ObjectServer() }

  private let scratch: ScratchDirectory
  /// Its address without a scheme: `127.0.0.1:8333`.
  package let authority: String
  /// The same with the name of this machine.
  package var namedAuthority: String { "localhost:\(authority.split(separator: ":").last ?? "")" }
  /// The server ends when the other end of its standard input closes, as it does with this process.
  private let input = Pipe()

  /// The program, where `scripts/dependencies` puts it.
  private static var program: String {
    let environment = ProcessInfo.processInfo.environment
    let cache = environment["XDG_CACHE_HOME"] ?? (environment["HOME"] ?? "/root") + "/.cache"
    return "\(cache)/albumfs-tests/seaweedfs-4.48/weed"
  }

  /// Ends the server with its standard input, and removes the sockets whose places cannot be chosen.
  private static func guardian(_ sockets: [String]) -> String {
    #""$@" >"$0" 2>&1 </dev/null & cat >/dev/null; kill -9 $!; rm -f "#
      + sockets.joined(separator: " ")
  }

  private init() throws {
    scratch = try ScratchDirectory()
    if let other = ProcessInfo.processInfo.environment["ALBUMFS_OBJECT_SERVER"] {
      authority = other
      return
    }
    guard FileManager.default.isExecutableFile(atPath: ObjectServer.program) else {
      throw Missing(
        description: "\(ObjectServer.program) is missing: run scripts/dependencies --tests")
    }
    let ports = try ObjectServer.freePorts(8)
    authority = "127.0.0.1:\(ports[3])"
    try scratch.write(
      "s3.json",
      """
      {"identities": [{"name": "tests", "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        "credentials": [{"accessKey": "\(ObjectServer.accessKey)", "secretKey": "\(ObjectServer.secretKey)"}]}]}
      """)
    try FileManager.default.createDirectory(
      atPath: scratch.path("data"), withIntermediateDirectories: false)
    let names = ["master", "volume", "filer", "s3"]
    let listening = zip(names, ports).map { "-\($0).port=\($1)" }
    let grpc = zip(names, ports.dropFirst(4)).map { "-\($0).port.grpc=\($1)" }
    // Two servers of catalogs with fixed ports, which nobody needs here.
    let unwanted = ["-s3.port.iceberg=0", "-s3.port.lance=0"]
    let left = zip(names, ports.dropFirst(4)).map { "/tmp/seaweedfs-\($0)-grpc-\($1).sock" }
    let sockets = ["filer", "s3"].map { "-\($0).localSocket=\(scratch.path("\($0).sock"))" }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments =
      ["-c", ObjectServer.guardian(left), scratch.path("log")]
      + [ObjectServer.program, "server", "-dir=\(scratch.path("data"))", "-ip=127.0.0.1"]
      + ["-ip.bind=127.0.0.1", "-master.volumeSizeLimitMB=64", "-volume.max=0", "-filer", "-s3"]
      // A bucket may stand in the name of the host, too.
      + ["-s3.domainName=localhost"]
      + ["-s3.config=\(scratch.path("s3.json"))", "-master.telemetry=false"]
      + unwanted + sockets
      + listening + grpc
    process.standardInput = input
    try process.run()
    let isUp = eventually {
      self.hasFailed || self.status(of: "http://\(self.authority)/") == "403"
    }
    if !isUp || hasFailed {
      throw Missing(description: "SeaweedFS does not start: \(log.suffix(2000))")
    }
  }

  private var log: String {
    (try? String(contentsOfFile: scratch.path("log"), encoding: .utf8)) ?? ""
  }

  /// It names the reason of its end in a line that begins with F, and the time.
  private var hasFailed: Bool { log.contains(#/\nF\d{4} /#) }

  /// Makes a bucket. Returns its name.
  package func makeBucket() throws -> String {
    let name = "tests-\(UUID().uuidString.lowercased())"
    let signing = [
      "--aws-sigv4", "aws:amz:us-east-1:s3",
      "--user", "\(ObjectServer.accessKey):\(ObjectServer.secretKey)",
      // SHA-256 of nothing, which curl itself leaves out.
      "-H",
      "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ]
    let isMade = eventually {
      self.status(of: "http://\(self.authority)/\(name)", signing + ["-X", "PUT"]) == "200"
    }
    if !isMade { throw Missing(description: "SeaweedFS makes no bucket") }
    return name
  }

  /// The variables of the environment that name the server and its user.
  package func environment(authority: String? = nil) -> [String: String] {
    [
      "AWS_ACCESS_KEY_ID": ObjectServer.accessKey, "AWS_SECRET_ACCESS_KEY": ObjectServer.secretKey,
      "AWS_ENDPOINT_URL": "http://\(authority ?? self.authority)",
    ]
  }

  /// A store in a bucket of this server.
  package func store(
    _ bucket: String, authority: String? = nil, options: S3StoreOptions = S3StoreOptions(),
    secretKey: String = ObjectServer.secretKey
  ) throws -> S3Store {
    let credentials = S3Credentials(
      accessKey: ObjectServer.accessKey, secretKey: secretKey, sessionToken: nil)
    guard let credentials, let place = S3Place("s3://\(bucket)/some/album"),
      let endpoint = S3Endpoint("http://\(authority ?? self.authority)")
    else { throw Missing(description: "no address") }
    let program = Command.builtPath("albumfs-remote")
    return S3Store(
      place, endpoint: endpoint, region: "us-east-1", options: options,
      credentials: { _ in credentials },
      lane: { () throws(LaneFault) in try RemoteProcess(program: program) })
  }

  private func status(of url: String, _ options: [String] = []) -> String? {
    let words = ["-s", "-o", "/dev/null", "-w", "%{http_code}"] + options + [url]
    return try? Command("/usr/bin/curl", words).run().output
  }

  /// Numbers of ports that nobody has. They stay taken until all are found.
  private static func freePorts(_ count: Int) throws -> [Int] {
    let sockets = (0..<count).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
    defer { for one in sockets { close(one) } }
    return try sockets.map { one in
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = unsafe withUnsafeMutablePointer(to: &address) { place in
        unsafe place.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
          unsafe bind(one, place, length) == 0 && getsockname(one, place, &length) == 0
        }
      }
      if !isBound { throw Missing(description: "no free port") }
      return Int(UInt16(bigEndian: address.sin_port))
    }
  }
}

/// A network between a test and its object storage that loses what it is told to
/// (Tests/ObjectStorage/faulty.py).
package final class FaultyNetwork: Sendable {
  /// Where clients connect to.
  package let authority: String
  /// The path of a file with a line for each request that is held.
  package var held: String { scratch.path("held") }
  /// While there is a file of this path, nothing goes through.
  package var away: String { held + ".away" }
  /// While there is a file of this path, everything gets there, and nothing comes back.
  package var silent: String { held + ".silent" }
  /// The path of a file with a line for each request so far.
  package var requests: String { held + ".requests" }
  private let scratch: ScratchDirectory
  private let input = Pipe()
  private let output = Pipe()

  /// `ignoresConditions`: the server seems to save whatever the condition is.
  package init(
    to server: ObjectServer, everyThird: Bool = false, ignoresConditions: Bool = false,
    isIPv6: Bool = false
  ) throws {
    scratch = try ScratchDirectory()
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("ObjectStorage/faulty.py").path
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["python3", "-B", script, server.authority, scratch.path("held")]
      + (everyThird ? ["--every-third"] : [])
      + (ignoresConditions ? ["--ignores-conditions"] : []) + (isIPv6 ? ["--ipv6"] : [])
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let line = FaultyNetwork.line(of: output.fileHandleForReading.fileDescriptor)
    guard let port = Int(line) else {
      throw ObjectServer.Missing(description: "the network does not start: \(line)")
    }
    authority = isIPv6 ? "[::1]:\(port)" : "127.0.0.1:\(port)"
  }

  /// Makes the next requests of these methods fail, each once: `PUT lost`, `GET 503`.
  package func expect(_ faults: [String]) throws {
    let text = faults.map { $0 + "\n" }.joined() + "\n"
    try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    _ = FaultyNetwork.line(of: output.fileHandleForReading.fileDescriptor)
  }

  private static func line(of descriptor: Int32) -> String {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while unsafe read(descriptor, &byte, 1) == 1, byte != 10 { line.append(byte) }
    return String(decoding: line, as: UTF8.self)
  }
}
