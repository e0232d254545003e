import AlbumSecrets
import ArgumentParser
import ControlProtocol
import Daemon
import Glibc
import Posix

struct Mount: RecoveryKeyCommand {
  static let configuration = CommandConfiguration(
    abstract: "Mount the space that a password unlocks.",
    discussion: """
      Asks for the password and returns when the space is mounted; a process in the background \
      serves it until `albumfs umount`.

        albumfs mount ~/Album.store ~/Album
        albumfs mount ~/Album.store ~/Album --password-command 'pass album'
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String

  @Argument(help: "An empty directory.", completion: .directory)
  var mountpoint: String

  @Flag(help: "Change nothing, neither in the space nor in the store.")
  var readOnly = false

  @Flag(help: "Let other users in, as far as the permissions of the files allow.")
  var allowOther = false

  @Option(
    help: ArgumentHelp(
      """
      Whom the files belong to: all to you (map), or to their stored owners (keep). The default is keep for \
      root and with --allow-other, otherwise map.
      """, valueName: "owner"))
  var owner: LaunchOptions.Owner?

  @Flag(name: [.short, .long], help: "Stay in the foreground; print messages on standard error.")
  var foreground = false

  @Option(
    name: .short,
    help: ArgumentHelp(
      "Mount options, separated by commas: ro, noexec, noatime, acl, uid=N, gid=N, …",
      valueName: "options"))
  var options: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      How requests come from the kernel: over io_uring (uring), over /dev/fuse (device), or over io_uring \
      where the kernel offers it (auto, the default).
      """, valueName: "transport"))
  var transport: LaunchOptions.Transport?

  @Option(
    help: ArgumentHelp("The program that makes thumbnails, if it is elsewhere.", valueName: "path"),
    completion: .file())
  var thumbnailer: String?

  @Option(
    help: ArgumentHelp(
      """
      How long parts of the store stay after they are no longer needed, so that a running copy of the \
      store still finds them. On a full disk they go at once.
      """, valueName: "s"))
  var grace: Int64 = 900

  @Flag(
    help: """
      Record on this machine how far the space's history went, and warn if the store is older: \
      in ~/.local/state/albumfs, or $XDG_STATE_HOME/albumfs.
      """)
  var remember = false

  @Flag(
    help: ArgumentHelp(
      "For tests: implicit entries do not look at the caller's system call.",
      visibility: .hidden))
  var noSyscallInspection = false

  @OptionGroup var password: PasswordOptions
  @OptionGroup var secret: RecoveryKeyOption
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if !(0...31_536_000).contains(grace) {
      throw ValidationError("--grace takes seconds, from 0 to a year.")
    }
  }

  func run() throws {
    ProcessSetup.protectMemory()
    let launch = try launchOptions()
    let typed = try secret.ask(password)
    if foreground {
      try runInForeground(launch, typed)
    } else {
      try startDaemon(launch, typed)
    }
  }

  /// Checks everything that can be checked without the password.
  private func launchOptions() throws(Failure) -> LaunchOptions {
    let path = MountPath.resolve(store)
    _ = try StoreCommands.open(path)
    let place = try MountChecks.prepareMountPoint(mountpoint, store: path)
    let launch = LaunchOptions(
      store: path, mountPoint: place, readOnly: readOnly, allowOther: allowOther,
      owner: owner, mountOptions: options.joined(separator: ","),
      transport: transport ?? Mount.defaultTransport,
      secretKind: secret.recoveryKey ? .recoveryKey : .password,
      thumbnailer: Thumbnailer.find(thumbnailer),
      inspectsSystemCalls: !noSyscallInspection, graceSeconds: grace,
      remembersIn: remember ? try StateDirectory.make() : nil, verbose: output.verbose)
    try launch.check()
    return launch
  }

  /// Tests can choose another for all of their mounts.
  private static var defaultTransport: LaunchOptions.Transport {
    PathCalls.variable("ALBUMFS_TESTS_TRANSPORT").flatMap { LaunchOptions.Transport(rawValue: $0) }
      ?? .auto
  }

  private func runInForeground(_ launch: LaunchOptions, _ secret: consuming SecretBytes)
    throws(Failure)
  {
    Interruption.remove()
    let isQuiet = output.quiet
    let daemon = AlbumDaemon(launch, log: DaemonLog(.standardError)) { warnings in
      for warning in warnings { Terminal.complain(warning) }
      if !isQuiet { Terminal.message("Mounted on \(launch.mountPoint); Ctrl-C unmounts.") }
      return true
    }
    try daemon.run(
      secret: secret, ignoringHangup: false,
      exitWhenInterrupted: ExitStatus.code(for: .interrupted))
  }

  /// Starts this program again in the background. It receives everything over a socket, and replies when the
  /// mount is ready.
  private func startDaemon(_ launch: LaunchOptions, _ secret: borrowing SecretBytes)
    throws(Failure)
  {
    let channel = try DaemonProcess.start()
    try channel.send(launch, secret)
    switch try channel.waitForAnswer() {
    case .failed(let failure): throw failure
    case .ready(let warnings):
      for warning in warnings { Terminal.complain(warning) }
      output.detail("Mounted on \(launch.mountPoint).")
    }
  }
}

extension LaunchOptions.Transport: ExpressibleByArgument {}
extension LaunchOptions.Owner: ExpressibleByArgument {}

/// Starts the daemon: this very program with the hidden command `daemon`.
enum DaemonProcess {
  static func start() throws(Failure) -> LaunchChannel {
    do throws(Errno) {
      let (ours, theirs) = try makeSocketPair()
      let channel = LaunchChannel(owning: ours)
      let other = FileDescriptor(owning: theirs)
      let redirections =
        [0, 1, 2].map { Subprocess.Redirection($0, -1) }
        + [Subprocess.Redirection(LaunchChannel.descriptor, other.rawValue)]
      _ = try Subprocess.start(
        ["albumfs", DaemonCommand.name], program: "/proc/self/exe", redirections)
      return channel
    } catch {
      throw Failure(.other, "The daemon cannot be started: \(error)")
    }
  }
}

/// Finds albumfs-thumbnailer.
enum Thumbnailer {
  private static let name = "albumfs-thumbnailer"

  /// The given program, otherwise the one beside this program, in ../libexec/albumfs, or along PATH; nil if
  /// none can be run.
  static func find(_ given: String?) -> String? {
    if let given { return runnable(MountPath.resolve(given)) }
    guard let program = MountPath.realPath("/proc/self/exe") else { return nil }
    let directory = program.split(separator: "/").dropLast()
    let beside = "/" + directory.joined(separator: "/")
    let above = "/" + directory.dropLast().joined(separator: "/")
    return runnable("\(beside)/\(name)") ?? runnable("\(above)/libexec/albumfs/\(name)")
      ?? Subprocess.find(name)
  }

  private static func runnable(_ path: String) -> String? {
    PathCalls.isExecutable(path) ? path : nil
  }
}
