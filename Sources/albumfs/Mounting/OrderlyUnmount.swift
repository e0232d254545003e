import AlbumModel
import ControlProtocol
import ObjectStores
import Posix

/// An unmount that asks the daemon to report how its session ends, and waits for the report.
struct OrderlyUnmount {
  private let mount: MountEntry
  private let output: OutputOptions

  init(_ mount: MountEntry, _ output: OutputOptions) {
    self.mount = mount
    self.output = output
  }

  /// True if the daemon says that its store is in a bucket.
  private var isRemote: Bool { ControlClient.store(of: mount)?.hasPrefix(S3Place.scheme) ?? false }

  /// Returns when everything is where the store lies, or with `lazy` at once.
  func run(lazy: Bool) throws(Failure) {
    if !mount.isOurs { throw othersMount() }
    // Connects first, so that the daemon cannot end before the request.
    guard let client = try connect(lazy) else {
      let wasDead = MountLife.isDead(mount)
      try Unmounting.clear(mount)
      output.say(
        wasDead
          ? "\(mount.mountPoint): its daemon was gone; the mount point is cleared."
          : "\(mount.mountPoint): removed; its daemon could not be reached, and may still be writing."
      )
      return
    }
    let daemon = ProcessHandle(client.daemon.pid)
    let locker = lazy ? nil : Locker(mount, client.daemon.pid)
    let place = !lazy && isRemote ? "in the bucket" : "on disk"
    let before = MountHolders(of: mount.device, servedBy: client.daemon.pid)
    if try Unmounting.unmount(mount.mountPoint, lazy: lazy) == .busy {
      let users = visibleUsers()
      // Whoever only looked something up has gone meanwhile.
      if !users.isEmpty { throw busy(users) }
      if try Unmounting.unmount(mount.mountPoint, lazy: false) == .busy { throw busy([]) }
    }
    if lazy { return }
    let others = MountHolders(of: mount.device, servedBy: client.daemon.pid).remaining(of: before)
    if !others.isEmpty, let failure = lockElsewhere(locker) { throw failure }
    var isFinal = false
    var wasSaid = false
    let failure = try client.waitForEnd { waited in
      if waited >= LockedSpace.patience, let silent = silentStore(locker, "unmounted") {
        isFinal = true
        return silent
      }
      if wasSaid { return nil }
      wasSaid = true
      if let failure = lockElsewhere(locker) {
        isFinal = true
        return failure
      }
      let pid = client.daemon.pid
      output.say(
        ProcessState.isStopped(pid)
          ? "Unmounted; its daemon is stopped and will write when it continues: kill -CONT \(pid)"
          : "Unmounted; waiting until everything is \(place) …")
      return nil
    }
    if let failure, isFinal { throw failure }
    if let failure, failure.kind == .notSent {
      throw Failure(.notSent, "\(mount.mountPoint) is unmounted. \(failure.message)")
    }
    if let failure {
      throw Failure(
        failure.kind,
        "\(mount.mountPoint) is unmounted, but not everything was written: \(failure.message)")
    }
    // The lock on the space goes with the process.
    try? client.stream.setReceiveTimeout(seconds: 60)
    do throws(MessageStream.Problem) { try client.stream.waitForEnd() } catch {
      throw Failure(.unreachable, "Unmounted, but the daemon's end cannot be observed: \(error)")
    }
    // The store's files are closed a moment after the socket: until then its disk is busy.
    daemon?.waitForEnd(atMost: 10_000)
    if others.isEmpty {
      output.detail("\(mount.mountPoint): unmounted, everything is \(place).")
    } else {
      output.say(
        ([
          "\(mount.mountPoint): unmounted, everything is \(place); locked where it was mounted too:"
        ]
          + others.lines.map { "  \($0)" }).joined(separator: "\n"))
    }
  }

  /// Locks the space for those who have it mounted elsewhere: the kernel tells the daemon of an unmount only
  /// when the last of them has gone. Returns the failure to report if they have files open.
  private func lockElsewhere(_ locker: Locker?) -> Failure? {
    guard let locker, let open = locker.client.askToLock(), open > 0 else { return nil }
    let daemon = locker.client.daemon.pid
    let others = MountHolders(of: mount.device, servedBy: daemon).processes
    return stillOpen(BusyProcesses.of(mount.device) + others)
  }

  private func silentStore(_ locker: Locker?, _ state: String) -> Failure? {
    locker?.silentStore("\(mount.mountPoint) is \(state)")
  }

  /// A connection by which the daemon can be asked to lock the space after the unmount. It is made before:
  /// daemons are found by the device number of their mount, and the kernel gives that to another mount once
  /// the file system has gone.
  final class Locker {
    let client: ControlClient

    /// nil if the daemon of the mount is not this one, or cannot be reached.
    init?(_ mount: MountEntry, _ daemon: Int32) {
      guard let client = try? ControlClient(mount), client.daemon.pid == daemon else { return nil }
      self.client = client
    }

    /// The failure to report if the store does not respond; nil if it does, as far as is known.
    func silentStore(_ state: String) -> Failure? {
      guard let outage = client.askForOutage() else { return nil }
      let since = SystemClock.localTime(seconds: Int64(saturating: outage.since))
      return Failure(
        .timedOut,
        "\(state), but not everything was written: the store has not responded since \(since) "
          + "(\(outage.reason)). The daemon (process \(client.daemon.pid)) waits for it with the keys of the space, "
          + "writes the rest when it is back, and ends. If its server is gone for good, end the file system below."
      )
    }
  }

  private static let invisible =
    "a process that is not visible: another user's, one in a container, or one that waits for the store"

  private func stillOpen(_ processes: [BusyProcess]) -> Failure {
    let users = processes.isEmpty ? ["  \(OrderlyUnmount.invisible)"] : []
    return Failure(
      .busy,
      (["\(mount.mountPoint) is locked, and stays open until these programs close it:"] + users
        + processes.map { "  \($0.line)" }).joined(separator: "\n"))
  }

  /// Locks a space, also one that is in use, wherever it is mounted: the daemon refuses to open anything in
  /// it, and ends when the last open file is closed. Returns how to wait for that; nil if the daemon was gone
  /// and the mount point is cleared.
  func lock() throws(Failure) -> LockedSpace? {
    if !mount.isOurs { throw othersMount() }
    let users = BusyProcesses.of(mount, filesOnly: true)
    let client: ControlClient?
    do throws(Failure) { client = try connect(false) } catch {
      // A daemon that cannot be reached must not keep the space in sight.
      if error.kind != .unreachable { throw error }
      try detach()
      throw unlockable(users)
    }
    guard let client else {
      try Unmounting.clear(mount)
      return nil
    }
    var number: Int?
    var store: String?
    let asking = Locker(mount, client.daemon.pid)
    if let asking {
      number = asking.client.askToLock()
      // A daemon that hangs must not keep the space in sight. Another connection may come too late.
      if number == 0 { store = asking.client.askForStore(of: mount) }
    }
    try detach()
    guard let number else { throw unlockable(users) }
    if number > 0 { throw stillOpen(users.isEmpty ? BusyProcesses.of(mount.device) : users) }
    return LockedSpace(
      mount, client, asking, isRemote: store?.hasPrefix(S3Place.scheme) ?? false)
  }

  /// Takes the mount out of the tree, if the daemon has not done so.
  private func detach() throws(Failure) {
    if try MountPath.table().mount(at: mount.mountPoint)?.device == mount.device {
      _ = try Unmounting.unmount(mount.mountPoint, lazy: true)
    }
    MadeDirectory.remove(mount.mountPoint)
  }

  private func unlockable(_ users: [BusyProcess]) -> Failure {
    let lines = users.map { "  \($0.line)" }
    return Failure(
      .unreachable,
      ([
        "\(mount.mountPoint) is unmounted, but its daemon does not reply, and these programs may still "
          + "use it:"
      ] + (lines.isEmpty ? ["  those that have it mounted elsewhere"] : lines))
      .joined(separator: "\n"))
  }

  private func othersMount() -> Failure {
    let user = mount.user ?? 0
    let name = UserName.of(user)
    return Failure(
      .unreachable,
      "\(mount.mountPoint) is a mount of \(user == 0 ? name : "user \(name)"). Only "
        + "\(user == 0 ? name : "\(name) and root") can unmount it.")
  }

  /// How often to try a daemon that cannot be reached, every 100 ms: the daemon of a new mount may not listen
  /// yet.
  private static let tries = 30

  /// Connects to the daemon and asks it to report its end, unless --lazy. Returns nil if no process serves
  /// the mount any more, which only the mount itself shows; with --lazy also if the daemon cannot be
  /// reached.
  private func connect(_ lazy: Bool) throws(Failure) -> ControlClient? {
    for attempt in 1... {
      try KilledDaemon.release(mount)
      do throws(Failure) {
        let client = try ControlClient(mount)
        if !lazy { try client.askForEnd() }
        return client
      } catch {
        if error.kind != .unreachable || !mount.isOurs { throw error }
        if try MountPath.table().mount(at: mount.mountPoint)?.device != mount.device {
          throw Failure(.noSuchMount, "\(mount.mountPoint) is not mounted any more.")
        }
        if MountLife.isDead(mount) { return nil }
        if attempt < OrderlyUnmount.tries {
          SystemClock.sleep(milliseconds: 100)
        } else if lazy {
          return nil
        } else {
          throw Failure(
            .unreachable,
            "\(error.message) Nothing was unmounted; --lazy takes the mount away without waiting for it."
          )
        }
      }
    }
    return nil
  }

  /// How long to look for the programs that use a mount, and how often at least: one that copies has no file
  /// open between two files.
  private static let (looking, looks) = (Duration.seconds(1), 20)

  /// Empty if none is visible.
  private func visibleUsers() -> [BusyProcess] {
    var processes = BusyProcesses.of(mount)
    let end = MonotonicTime.now + OrderlyUnmount.looking
    var count = 1
    while processes.isEmpty, count < OrderlyUnmount.looks || MonotonicTime.now < end {
      SystemClock.sleep(milliseconds: 10)
      processes = BusyProcesses.of(mount)
      count += 1
    }
    return processes
  }

  private func busy(_ processes: [BusyProcess]) -> Failure {
    var lines = ["\(UserConfiguration.abbreviated(mount.mountPoint)) is busy."]
    if processes.isEmpty { lines.append("  \(OrderlyUnmount.invisible)") }
    lines += processes.map { "  \($0.line)" }
    lines.append("Close them, or use --lazy.")
    return Failure(.busy, lines.joined(separator: "\n"))
  }
}
