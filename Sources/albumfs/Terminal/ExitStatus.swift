import ControlProtocol

/// The exit codes. They are stable, and equal those of gocryptfs for the same events, so that front-ends of
/// such file systems understand them. New events get numbers from 40 on.
enum ExitStatus {
  /// Each kind of failure, its code, and its line in `albumfs --help` and ExitCodes.md. If several kinds
  /// share a code, the first one's line is shown.
  private static let codes: [(kind: Failure.Kind, code: Int32, meaning: String)] = [
    (.usage, 1, "wrong usage"),
    (.storeMissing, 6, "the store does not exist or is not a store"),
    (.notEmpty, 7, "init, copy: the target is not empty"),
    (.configuration, 8, "albumfs.conf or keys damaged, edited, or of a newer format"),
    (.noPassword, 9, "no password could be read"),
    (.mountPoint, 10, "the mount point is missing, not empty, busy, or in the store"),
    (.other, 11, "any other error"),
    (.wrongPassword, 12, "wrong password or recovery key"),
    (.interrupted, 15, "interrupted (Ctrl-C), or not confirmed"),
    (.fuse, 19, "FUSE: no /dev/fuse, no fusermount3, or the mount was refused"),
    (.emptyPassword, 22, "the password is empty"),
    (.configurationOpen, 23, "albumfs.conf or keys cannot be opened"),
    (.configurationWrite, 24, "albumfs.conf or keys cannot be written"),
    (.damaged, 26, "the space is damaged"),
    (.securityKey, 31, "the security key: none, refused, not touched, or a wrong PIN"),
    (.storeInUse, 40, "the space is mounted already, or the store is being changed"),
    (.noSuchMount, 41, "nothing of albumfs is mounted there"),
    (.timedOut, 42, "the time is up (sync --timeout), or a store or daemon does not respond"),
    (.diskFull, 43, "the disk is full"),
    (.unsupported, 44, "made by a newer albumfs, or not possible here"),
    (.passwordInUse, 45, "the new password unlocks a space of this store already"),
    (.busy, 46, "umount: files are still open in the mount"),
    (.unreachable, 47, "the mount's daemon is there but cannot be reached, or is not yours"),
    (.clash, 48, "tidy: a name is taken; the other photos were moved"),
    (.leftOutside, 49, "adopt: some files stay outside of the space"),
    (.tracesStay, 50, "traces that other programs left could not be removed or looked for"),
    (.notCopied, 51, "import, export: some files were not copied, or not removed by --move"),
    (.remoteUnreachable, 52, "the server of an object storage cannot be reached"),
    (
      .remoteRefused, 53,
      "the server of an object storage refuses: credentials, rights, no such bucket"
    ),
    (
      .notSent, 54,
      "sync, umount: not everything is in the object storage yet; mount: what waits here needs a repair"
    ),
  ]

  static func code(for kind: Failure.Kind) -> Int32 {
    codes.first { $0.kind == kind }!.code
  }

  /// The table for `--help`, one code a line.
  static var table: String {
    (["  0   done"]
      + codes.map { entry in
        let number = String(entry.code)
        return "  \(number)\(String(repeating: " ", count: 4 - number.count))\(entry.meaning)"
      }).joined(separator: "\n")
  }
}
