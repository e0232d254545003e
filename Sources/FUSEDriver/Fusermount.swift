internal import Posix

/// The set-uid program of libfuse that mounts and unmounts for ordinary users.
enum Fusermount {
  /// Makes it open the FUSE device and mount it; returns the open device, received over a socket.
  static func mount(at mountPoint: String, options: String) throws(MountError) -> FileDescriptor {
    let ends: (CInt, CInt)
    do throws(Errno) { ends = try makeSocketPair() } catch {
      throw .systemRefused("make a socket", error)
    }
    let ours = FileDescriptor(owning: ends.0)
    let theirs = FileDescriptor(owning: ends.1)
    let words = try run(["-o", options, "--", mountPoint], connection: theirs.rawValue)
    if let device = ours.receiveDescriptor() { return device }
    throw refusal(words, at: mountPoint)
  }

  /// Checks that it is there, and that it would let others in if `allowOther` is set.
  static func requireUsable(allowOther: Bool) throws(MountError) {
    if Subprocess.fusermount() == nil { throw .noFusermount }
    if !allowOther { return }
    let text = String(decoding: (try? readWholeFile("/etc/fuse.conf")) ?? [], as: UTF8.self)
    let isAllowed = text.split(separator: "\n").contains {
      $0.split(separator: " ").first == "user_allow_other"
    }
    if !isAllowed { throw .allowOtherNotPermitted }
  }

  /// Unmounts. With `lazy` it detaches the mount, and open files in it stay usable.
  static func unmount(_ mountPoint: String, lazy: Bool = true) throws(MountError) {
    let words = try run((lazy ? ["-u", "-z"] : ["-u"]) + ["--", mountPoint])
    if !words.isEmpty { throw refusal(words, at: mountPoint) }
  }

  /// Translates its error message. The message is empty if it was killed.
  static func refusal(_ words: String, at mountPoint: String) -> MountError {
    if words.contains("user_allow_other") { return .allowOtherNotPermitted }
    if words.contains("device not found") { return .noDevice }
    if words.contains("no write access to mountpoint") || words.contains("mountpoint not owned") {
      return .mountPoint(mountPoint, .notOwned)
    }
    return .fusermountFailed(words)
  }

  /// Runs it to its end and returns its error message in one line, without the program's name. `connection`
  /// is a socket for the open device.
  private static func run(_ arguments: [String], connection: CInt? = nil) throws(MountError)
    -> String
  {
    guard let program = Subprocess.fusermount() else { throw .noFusermount }
    let complaint: String
    do throws(Errno) {
      complaint = try Subprocess.run(
        [program] + arguments,
        [Subprocess.Redirection(0, -1)]
          + (connection.map { [Subprocess.Redirection(3, $0)] } ?? []),
        environment: Subprocess.plainEnvironment + ["_FUSE_COMMFD=3"]
      ).complaint
    } catch {
      throw .systemRefused("run \(program)", error)
    }
    let prefix = "fusermount3: "
    return complaint.split(separator: "\n")
      .map { $0.hasPrefix(prefix) ? $0.dropFirst(prefix.count) : $0 }.joined(separator: "; ")
  }
}
