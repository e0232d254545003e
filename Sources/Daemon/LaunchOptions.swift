/// All that a daemon is told when it starts, but the secret.
package struct LaunchOptions: Codable, Sendable, Equatable {
  /// What opens the space.
  package enum SecretKind: String, Codable, Sendable {
    case password, recoveryKey
  }

  /// Absolute paths: the daemon works in `/`.
  package var store: String
  package var mountPoint: String
  package var readOnly: Bool
  package var allowOther: Bool
  /// The words of `-o`, joined by commas.
  package var mountOptions: String
  package var secretKind: SecretKind
  /// Path of albumfs-thumbnailer; nil: no thumbnails are made.
  package var thumbnailer: String?
  /// Whether implicit entries look at the caller's system call (DESIGN section 5). Off only in
  /// tests, which try the second way by that.
  package var inspectsSystemCalls: Bool
  /// How long a segment of the store that is no longer needed stays, in seconds.
  package var graceSeconds: Int64
  /// Where it is remembered how far the history of spaces went; nil: it is not.
  package var remembersIn: String?
  package var verbose: Bool

  package init(
    store: String, mountPoint: String, readOnly: Bool, allowOther: Bool, mountOptions: String,
    secretKind: SecretKind, thumbnailer: String?, inspectsSystemCalls: Bool, graceSeconds: Int64,
    remembersIn: String? = nil, verbose: Bool
  ) {
    self.store = store
    self.mountPoint = mountPoint
    self.readOnly = readOnly
    self.allowOther = allowOther
    self.mountOptions = mountOptions
    self.secretKind = secretKind
    self.thumbnailer = thumbnailer
    self.inspectsSystemCalls = inspectsSystemCalls
    self.graceSeconds = graceSeconds
    self.remembersIn = remembersIn
    self.verbose = verbose
  }
}
