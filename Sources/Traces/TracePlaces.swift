/// The directories in which the programs of one user keep their files (XDG Base Directory Specification).
package struct TracePlaces: Sendable, Equatable {
  package var user: UInt32
  /// Absolute paths.
  package var home: String
  package var cache: String
  package var data: String
  package var config: String
  /// Directories for temporary files.
  package var temporary: [String]

  package init(
    user: UInt32, home: String, cache: String, data: String, config: String, temporary: [String]
  ) {
    self.user = user
    self.home = home
    self.cache = cache
    self.data = data
    self.config = config
    self.temporary = temporary
  }

  /// The directories that the variables of an environment name; nil without a home directory.
  package init?(user: UInt32, variable: (String) -> String?) {
    func path(_ name: String) -> String? {
      guard let path = variable(name), path.hasPrefix("/") else { return nil }
      return path
    }
    guard let home = path("HOME") else { return nil }
    var temporary = ["/tmp", "/var/tmp"]
    if let own = path("TMPDIR"), !temporary.contains(own) { temporary.insert(own, at: 0) }
    self.init(
      user: user, home: home, cache: path("XDG_CACHE_HOME") ?? "\(home)/.cache",
      data: path("XDG_DATA_HOME") ?? "\(home)/.local/share",
      config: path("XDG_CONFIG_HOME") ?? "\(home)/.config", temporary: temporary)
  }
}
