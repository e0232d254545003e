import Posix

/// The directories in which the programs of one user keep their files (`BaseDirectory`).
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
    guard let home = BaseDirectory.home(variable), let cache = BaseDirectory.cache.path(variable),
      let data = BaseDirectory.data.path(variable),
      let config = BaseDirectory.config.path(variable)
    else { return nil }
    var temporary = ["/tmp", "/var/tmp"]
    if let own = variable("TMPDIR"), own.hasPrefix("/"), !temporary.contains(own) {
      temporary.insert(own, at: 0)
    }
    self.init(
      user: user, home: home, cache: cache, data: data, config: config, temporary: temporary)
  }
}
