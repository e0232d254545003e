internal import Posix

/// The set-uid program of libfuse that mounts and unmounts for ordinary users.
enum Fusermount {
  /// Has it open the FUSE device and mount it; answers the open device, as it comes over a socket.
  static func mount(at mountPoint: String, options: String) throws(MountError) -> FileDescriptor {
    let ends: (CInt, CInt)
    do throws(Errno) { ends = try makeSocketPair() } catch {
      throw MountError(.refused, "Cannot make a socket: \(error).")
    }
    let ours = FileDescriptor(owning: ends.0)
    let theirs = FileDescriptor(owning: ends.1)
    let words = try run(["-o", options, "--", mountPoint], connection: theirs.rawValue)
    if let device = ours.receiveDescriptor() { return device }
    throw refusal(words, at: mountPoint)
  }

  /// Detaches what is mounted there; what is open in it goes on.
  static func unmount(_ mountPoint: String) throws(MountError) {
    let words = try run(["-u", "-z", "--", mountPoint])
    if !words.isEmpty { throw refusal(words, at: mountPoint) }
  }

  /// What its complaint means. Empty words come from one that was killed.
  static func refusal(_ words: String, at mountPoint: String) -> MountError {
    if words.contains("user_allow_other") {
      return MountError(
        .allowOtherNotPermitted,
        """
        --allow-other is not permitted: ask the administrator for the line user_allow_other in \
        /etc/fuse.conf, or mount without it.
        """)
    }
    if words.contains("device not found") { return .noDevice }
    if words.contains("no write access to mountpoint") || words.contains("mountpoint not owned") {
      return MountError(
        .mountPointNotPermitted,
        "\(mountPoint) is not yours to mount on: choose a directory of your own.")
    }
    return MountError(
      .refused, words.isEmpty ? "fusermount3 failed without a word." : "The mount failed: \(words)")
  }

  /// Runs it to its end and returns its complaint in one line, without its name before it. `connection` is
  /// a socket for the open device.
  private static func run(_ arguments: [String], connection: CInt? = nil) throws(MountError)
    -> String
  {
    guard let program = Subprocess.fusermount() else {
      throw MountError(
        .noFusermount,
        "The program fusermount3 is missing, without which only root can mount: install fuse3.")
    }
    let complaint: String
    do throws(Errno) {
      complaint = try Subprocess.run(
        [program] + arguments,
        [Subprocess.Redirection(0, -1)]
          + (connection.map { [Subprocess.Redirection(3, $0)] } ?? []),
        environment: Subprocess.plainEnvironment + ["_FUSE_COMMFD=3"]
      ).complaint
    } catch {
      throw MountError(.refused, "\(program) cannot be run: \(error).")
    }
    let prefix = "fusermount3: "
    return complaint.split(separator: "\n")
      .map { $0.hasPrefix(prefix) ? $0.dropFirst(prefix.count) : $0 }.joined(separator: "; ")
  }
}
