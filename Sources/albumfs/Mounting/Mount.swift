import AlbumSecrets
import AlbumStore
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
      serves it until `albumfs umount`. A missing mount point is made, and removed by the unmount.

      Without a store, `albumfs mount` mounts the first one of ~/.config/albumfs/config. Without such a file \
      it asks what to mount, makes what is missing, and remembers it there.

        albumfs mount
        albumfs mount ~/Album.store ~/Album
        albumfs mount ~/Album.store ~/Album --password-command 'pass album'
        albumfs mount s3://photos/album ~/Album
      """)

  @Argument(
    help: "The store's directory, or s3://bucket/prefix.", completion: .directory
  )
  var store: String?

  @Argument(help: "An empty directory, or one to make.", completion: .directory)
  var mountpoint: String?

  @Flag(help: "Change nothing, neither in the space nor in the store.")
  var readOnly = false

  @Option(
    help: ArgumentHelp(
      """
      Show the space as it was, read-only: the name of a snapshot, or a time such as 2026-11-26T10:00 or 2h, \
      for the first snapshot from then on.
      """, valueName: "time"))
  var at: SnapshotArgument?

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
      "Mount options, separated by commas: ro, noexec, noatime, acl, uid=USER, gid=GROUP, …",
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
      "The program that makes thumbnails of videos, if it is elsewhere.", valueName: "path"),
    completion: .file())
  var videoThumbnailer: String?

  @Flag(help: "Thumbnails of videos show no play mark in their corner.")
  var noVideoMark = false

  @Option(
    help: ArgumentHelp(
      """
      How long parts of the store stay after they are no longer needed, so that a running copy of the \
      store still finds them. On a full disk they go at once. \
      The default is 900.
      """, valueName: "s"))
  var grace: Int64?

  @Option(
    help: ArgumentHelp(
      "Unmount when nobody has used the space for so long, such as 15m; never while a file is open.",
      valueName: "time"))
  var idle: DurationArgument?

  @Flag(
    help: """
      Record on this machine how far the space's history went, and warn if the store is older: \
      in ~/.local/state/albumfs, or $XDG_STATE_HOME/albumfs.
      """)
  var remember = false

  @Option(
    help: ArgumentHelp(
      """
      What fsync means on a store in an object storage: on the disk of this machine (local, the default), or \
      in the object storage (remote). sync and umount always mean the second.
      """, valueName: "where"))
  var durability: LaunchOptions.Durability?

  @Option(
    help: ArgumentHelp(
      """
      The directory for what an object storage does not have yet, on a disk of this machine. By default it \
      is in ~/.local/state/albumfs, or $XDG_STATE_HOME/albumfs.
      """, valueName: "path"), completion: .directory)
  var staging: String?

  @Option(
    help: ArgumentHelp(
      """
      How much may wait there: then writing waits until some of it was sent. From 256M; the default is 4G.
      """, valueName: "size"))
  var stagingSize: SizeArgument?

  @Flag(
    help: ArgumentHelp(
      "For tests: implicit entries do not look at the caller's system call.",
      visibility: .hidden))
  var noSyscallInspection = false

  @OptionGroup var watch: WatchOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var secret: RecoveryKeyOption
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if let grace, !(0...31_536_000).contains(grace) {
      throw ValidationError("--grace takes seconds, from 0 to a year.")
    }
    if let stagingSize, stagingSize.bytes < StagingPlace.leastBytes {
      throw ValidationError("--staging-size takes 256M or more.")
    }
    if watch.namesGoToTheSystemLog, !foreground {
      throw ValidationError(
        "--trace-names would write the names of files into the system log, which others can read. Add "
          + "--trace-file and a file, or --foreground.")
    }
  }

  func run() throws {
    ProcessSetup.protectMemory()
    let plan = try MountPlan(store: store, mountPoint: mountpoint)
    try completed(by: plan.options).mount(plan)
  }

  /// Adds options from the user's settings. What was typed counts more.
  func completed(by words: [String]) throws(Failure) -> Mount {
    let settings: Mount
    do { settings = try Mount.parse(words) } catch {
      throw Failure(.usage, Mount.message(for: error))
    }
    var all = self
    all.readOnly = readOnly || settings.readOnly
    all.allowOther = allowOther || settings.allowOther
    all.owner = owner ?? settings.owner
    all.options = settings.options + options
    all.transport = transport ?? settings.transport
    all.thumbnailer = thumbnailer ?? settings.thumbnailer
    all.videoThumbnailer = videoThumbnailer ?? settings.videoThumbnailer
    all.noVideoMark = noVideoMark || settings.noVideoMark
    all.grace = grace ?? settings.grace
    all.idle = idle ?? settings.idle
    all.remember = remember || settings.remember
    all.durability = durability ?? settings.durability
    all.staging = staging ?? settings.staging
    all.stagingSize = stagingSize ?? settings.stagingSize
    if !password.isGiven, !secret.recoveryKey { all.password = settings.password }
    return all
  }

  /// Mounts what the plan says, with these options. Returns when the space is mounted.
  func mount(_ plan: MountPlan, coversFiles: Bool = false) throws {
    if plan.isStoreToBeMade {
      let typed = try makeStore(plan.store)
      try start(try launchOptions(plan, coversFiles).0, plan, typed)
    } else {
      let (launch, opened) = try launchOptions(plan, coversFiles)
      let typed = try secret.ask(password, for: opened)
      do throws(Failure) { try start(launch, plan, typed) } catch {
        // The settings of the user may name the security key.
        throw secret.recoveryKey ? error : password.explained(error)
      }
    }
  }

  /// Mounts a store in the background with a password that was read already.
  func mount(store: String, at point: String, _ typed: borrowing SecretBytes) throws(Failure) {
    let plan = MountPlan(exactly: store, point)
    let (launch, _) = try launchOptions(plan, false)
    let bare = try BareDirectory(point, isConfigured: false)
    do throws(Failure) { try startDaemon(launch, typed) } catch {
      bare.isLeft()
      throw error
    }
    bare.isCovered()
  }

  /// Makes a store as `albumfs init` does. Returns its password.
  private func makeStore(_ path: String) throws -> SecretBytes {
    var new: Init
    do { new = try Init.parse([path]) } catch { throw Failure(.usage, Init.message(for: error)) }
    new.password = password
    new.output = output
    let typed = try new.make()
    output.say(
      "Made \(UserConfiguration.abbreviated(path)). Write down its recovery key: "
        + "albumfs space recovery-key \(UserConfiguration.shellWord(path))")
    return typed
  }

  /// Checks everything that can be checked without the password. Returns the store as well, which it opens.
  private func launchOptions(_ plan: MountPlan, _ coversFiles: Bool) throws(Failure)
    -> (LaunchOptions, Store)
  {
    let opened = try MountChecks.openStore(of: plan)
    try MountChecks.prepareMountPoint(plan.mountPoint, store: plan.store)
    var launch = LaunchOptions(
      store: plan.store, mountPoint: plan.mountPoint, readOnly: readOnly, allowOther: allowOther,
      owner: owner, mountOptions: options.joined(separator: ","),
      transport: transport ?? Mount.defaultTransport,
      secretKind: secret.recoveryKey ? .recoveryKey : .password,
      thumbnailer: Thumbnailer.find(thumbnailer),
      inspectsSystemCalls: !noSyscallInspection, graceSeconds: grace ?? 900,
      remembersIn: remember ? try StateDirectory.make(for: "--remember") : nil,
      verbose: output.verbose)
    launch.coversFiles = coversFiles
    launch.snapshot = at?.name
    launch.videoThumbnailer = Thumbnailer.find(videoThumbnailer, "albumfs-video-thumbnailer")
    launch.marksVideos = !noVideoMark
    launch.idleSeconds = idle?.seconds
    launch.trace = watch.options
    launch.durability = durability
    if let staging {
      launch.staging = try StagingPlace.resolve(staging, mountPoint: plan.mountPoint)
    }
    launch.stagingBytes = stagingSize?.bytes
    try RemoteStores.requireRemote(launch)
    // Leaves nothing behind if the user types no password.
    let bare = try BareDirectory(plan.mountPoint, isConfigured: plan.isConfigured)
    defer { bare.isLeft() }
    try launch.check()
    return (launch, opened)
  }

  private func start(_ launch: LaunchOptions, _ plan: MountPlan, _ typed: consuming SecretBytes)
    throws(Failure)
  {
    if plan.isToBeRemembered {
      try UserConfiguration.remember(store: plan.store, mountPoint: plan.mountPoint)
    }
    let isConfigured = plan.isConfigured || plan.isToBeRemembered
    let bare = try BareDirectory(plan.mountPoint, isConfigured: isConfigured)
    do throws(Failure) {
      if foreground {
        try runInForeground(launch, typed, bare)
      } else {
        try startDaemon(launch, typed)
        bare.isCovered()
      }
    } catch {
      bare.isLeft()
      throw error
    }
  }

  /// Tests can choose another for all of their mounts.
  private static var defaultTransport: LaunchOptions.Transport {
    TestHooks.transport.flatMap { LaunchOptions.Transport(rawValue: $0) }
      ?? .auto
  }

  private func runInForeground(
    _ launch: LaunchOptions, _ secret: consuming SecretBytes, _ bare: BareDirectory
  ) throws(Failure) {
    Interruption.remove()
    let isQuiet = output.quiet
    let daemon = AlbumDaemon(
      launch, log: DaemonLog(.standardError, mountPoint: launch.mountPoint),
      openStore: RemoteStores.openForMount
    ) { warnings in
      bare.isCovered()
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
      let point = launch.mountPoint
      output.say(
        "Mounted on \(UserConfiguration.abbreviated(point)); unmount: "
          + "albumfs umount \(UserConfiguration.shellWord(point))")
    }
  }
}

extension LaunchOptions.Transport: ExpressibleByArgument {}
extension LaunchOptions.Owner: ExpressibleByArgument {}
extension LaunchOptions.Durability: ExpressibleByArgument {}

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
