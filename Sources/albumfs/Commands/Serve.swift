import ArgumentParser
import ControlProtocol
import FoundationEssentials
import Posix

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the albums in a browser: the gallery.",
    discussion: """
      Serves the gallery over HTTPS until you press Ctrl-C. A browser asks for the password of a space; the \
      password picks the space. It listens on this machine alone unless --listen says otherwise. \
      The certificate is made on the first run and signed by itself, so a browser warns: compare its \
      fingerprint with the one that serve prints.

        albumfs serve ~/Album.store
        albumfs serve ~/Album.store --listen 192.168.1.20
        albumfs serve --mounted

      With --localsend, phones send photos and videos to an album with the app LocalSend, without a browser. \
      It asks for the password of the album's space, and shows the PIN that a phone must give.

        albumfs serve ~/Album.store --listen 192.168.1.20 --localsend Trip
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String?

  @Flag(help: "Offer the spaces that you have mounted, instead of those of a store.")
  var mounted = false

  @Option(help: ArgumentHelp("The address or host name to listen on.", valueName: "address"))
  var listen = "127.0.0.1"

  @Option(
    help: ArgumentHelp(
      "The port to listen on. The default is 8443, and LocalSend's 53317 with --localsend.",
      valueName: "n"))
  var port: Int?

  @Option(
    help: ArgumentHelp(
      "Receive files into an album from phones with the app LocalSend; make the album if it is missing.",
      valueName: "album"))
  var localsend: String?

  @Option(
    help: ArgumentHelp(
      "Lock a session after so long without a request. The default is 10m.", valueName: "time"))
  var idle: DurationArgument?

  @Option(
    help: ArgumentHelp(
      "A certificate (PEM) instead of the one made by albumfs.", valueName: "file"),
    completion: .file())
  var certificate: String?

  @Option(
    help: ArgumentHelp("The certificate's key (PEM).", valueName: "file"), completion: .file())
  var key: String?

  @Flag(help: "Show the address as a QR code, also where only this machine can reach it.")
  var qr = false

  @Flag(help: "Mount read-only what a login mounts.")
  var readOnly = false

  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if mounted == (store != nil) { throw ValidationError("Give a store, or --mounted.") }
    if let port, !(1...65535).contains(port) {
      throw ValidationError("--port takes 1 to 65535.")
    }
    if password.isGiven, localsend == nil {
      throw ValidationError("Without --localsend, the browser asks for the password.")
    }
    if localsend != nil, readOnly { throw ValidationError("--localsend needs to write.") }
    if let localsend, localsend.isEmpty || localsend.utf8.contains(where: { $0 < 0x20 }) {
      throw ValidationError("--localsend takes an album.")
    }
    if (certificate == nil) != (key == nil) {
      throw ValidationError("Give --certificate and --key together.")
    }
  }

  func run() throws {
    if let store { _ = try StoreCommands.open(store) }
    guard let program = HelperProgram.find("albumfs-gallery") else {
      throw Failure(
        .unsupported,
        "albumfs-gallery is not installed beside albumfs. scripts/build-release --gallery builds it."
      )
    }
    guard let own = MountPath.realPath("/proc/self/exe") else {
      throw Failure(.other, "/proc is not mounted.")
    }
    let launch = GalleryLaunch(
      albumfs: own, fetch: HelperProgram.find("albumfs-fetch"), store: store.map(MountPath.resolve),
      mountOptions: readOnly ? ["--read-only"] : [], host: listen,
      port: port ?? (localsend == nil ? 8443 : Serve.localSendPort),
      idleSeconds: idle?.seconds ?? 600, certificate: certificate.map(MountPath.resolve),
      key: key.map(MountPath.resolve), showsCode: qr, receives: localsend != nil)
    let words = String(decoding: try JSONEncoder().encode(launch), as: UTF8.self)
    if let localsend { try pass(localsend) }
    Interruption.remove()
    let error = Subprocess.replace(by: program, ["albumfs-gallery", words])
    throw Failure(.other, "\(program) cannot be run: \(error).")
  }

  /// Phones look there where a network has no multicast.
  private static let localSendPort = 53_317

  /// Lets the gallery read the password and the album from standard input.
  private func pass(_ album: String) throws(Failure) {
    ProcessSetup.protectMemory()
    let typed = try password.askForPassword()
    do throws(Errno) { try PasswordInput.pass(typed, with: album) } catch {
      throw Failure(.noPassword, "The password cannot be passed to the gallery: \(error).")
    }
  }
}
