import AlbumModel
package import ControlProtocol
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOSSL
import Posix

/// The gallery's server, from its order to its end.
package struct GalleryApplication: Sendable {
  private let launch: GalleryLaunch
  private let sessions: SessionTable
  private let points: MountPoints
  private let certificate: ServerCertificate
  private let desk: ReceptionDesk
  private let address: GalleryAddress

  /// Why the server cannot start, for a person.
  package struct Problem: Error, CustomStringConvertible {
    package let description: String
    /// One of the exit codes of albumfs.
    package var exitCode: Int32 = 11
  }

  /// The suites of TLS 1.2: authenticated encryption, with keys that nobody can find later. TLS 1.3 has no
  /// others.
  private static let suites: [NIOTLSCipher] = [
    .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
  ]
  /// Threads for file calls: short ones, long ones, waits for the decoder, and waits for servers in the web.
  private static let threads = (files: 8, work: 6, previews: 4, web: 6)
  /// Connections at once: of all, and of one client.
  private static let connectionLimits = (all: 256, each: 96)

  package init(_ launch: GalleryLaunch) throws {
    self.launch = launch
    do {
      points = try MountPoints()
      let program = AlbumfsProgram(launch: launch, points: points)
      sessions = try SessionTable(program, idle: .seconds(launch.idleSeconds))
      certificate =
        if let file = launch.certificate, let key = launch.key {
          try ServerCertificate(certificate: file, key: key)
        } else {
          try ServerCertificate(ownFor: ServerNames.own(listening: launch.host))
        }
      let device = LocalSendDevice(certificate: certificate.fingerprint, port: launch.port)
      desk = ReceptionDesk(device, host: launch.host)
      address = GalleryAddress(listening: launch.host, port: launch.port)
    } catch {
      throw Problem(description: "The gallery cannot start: \(error)")
    }
  }

  /// Serves until SIGTERM or SIGINT.
  package func run() async throws {
    SignalThread.start(lock: { await sessions.lockAll() }, end: { await end() })
    SuspendWatch.start { Task { await sessions.lockAll() } }
    await sessions.prepare()
    let reception = try await receptionOfTerminal()
    let files = try BlockingBridge(name: "gallery-files", threads: Self.threads.files)
    let work = try BlockingBridge(name: "gallery-work", threads: Self.threads.work)
    let routes = GalleryRoutes(
      sessions: sessions, desk: desk, address: address,
      names: ServerNames(listening: launch.host, certified: certificate.names),
      idle: .seconds(launch.idleSeconds),
      files: files, work: work,
      previews: try BlockingBridge(name: "gallery-preview", threads: Self.threads.previews),
      web: try BlockingBridge(name: "gallery-web", threads: Self.threads.web),
      fetchProgram: launch.fetch)
    // Nothing that a request or a failure says may get into a log.
    let silent = Logger(label: "gallery") { _ in SwiftLogNoOpLogHandler() }
    let application = Application(
      router: routes.router(), server: server(),
      configuration: ApplicationConfiguration(
        address: .hostname(launch.host, port: launch.port), serverName: nil,
        availableConnectionsDelegate: MaximumAvailableConnections(Self.connectionLimits.all)),
      onServerRunning: { _ in announce(reception) }, logger: silent)
    let upkeep = Task { await watchSessions(reception) }
    defer { upkeep.cancel() }
    do { try await application.run() } catch {
      await end()
      throw Problem(
        description: "\(launch.host), port \(launch.port), cannot be listened on: \(error)")
    }
  }

  private func server() -> HTTPServerBuilder {
    var tls = TLSConfiguration.makeServerConfiguration(
      certificateChain: certificate.certificates, privateKey: certificate.key)
    tls.minimumTLSVersion = .tlsv12
    tls.cipherSuiteValues = Self.suites
    let shares = ConnectionShares(each: Self.connectionLimits.each)
    return HTTPServerBuilder { [tls] responder in
      try BrowserChannel(tls, shares: shares, responder: responder)
    }
  }

  /// Opens what `serve --localsend` receives into.
  private func receptionOfTerminal() async throws -> Reception? {
    if !launch.receives { return nil }
    do {
      guard let order = GalleryReception(lines: StandardInput.takeAll()) else {
        throw Problem(description: "The password and the album cannot be read.", exitCode: 9)
      }
      return try await TerminalReception(sessions: sessions, desk: desk).open(order)
    } catch {
      await end()
      throw error
    }
  }

  /// Locks what nobody uses. A machine that slept locks everything: the wall clock went on meanwhile.
  private func watchSessions(_ reception: Reception?) async {
    var reception = reception
    var (wall, steady) = (SystemClock.wall(), MonotonicTime.now)
    while !Task.isCancelled {
      try? await Task.sleep(for: .seconds(1))
      let passed = Duration.seconds(SystemClock.wall().seconds - wall.seconds)
      if passed - (MonotonicTime.now - steady) > .seconds(30) { await sessions.lockAll() }
      (wall, steady) = (SystemClock.wall(), .now)
      await sessions.lockDue()
      await desk.closeDue()
      if let over = reception, let end = over.end {
        StandardOutput.write(TerminalReception.farewell(end))
        await sessions.lock(over.session)
        reception = nil
      }
    }
  }

  private func end() async {
    await sessions.lockAll()
    points.remove()
    SuspendWatch.stop()
  }

  /// Shows where the gallery is. It says nothing about spaces.
  private func announce(_ reception: Reception?) {
    let url = "https://\(address.text)/"
    var lines = ["The gallery is at \(url)"]
    if launch.certificate == nil || reception != nil {
      lines.append(
        launch.certificate == nil
          ? "Its certificate is made by itself, so the browser warns. SHA-256 fingerprint:"
          : "The SHA-256 fingerprint of its certificate:")
      lines.append("  \(certificate.fingerprint)")
    }
    if launch.showsCode || !AddressText.isLoopback(launch.host), let code = QRCode.lines(url) {
      lines += code
    }
    if let reception { lines += TerminalReception.invitation(reception, at: address) }
    lines.append("Ctrl-C locks and ends it.")
    StandardOutput.write(lines.joined(separator: "\n") + "\n")
  }
}
