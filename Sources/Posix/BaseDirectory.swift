/// A directory in which the programs of a user keep their files (XDG Base Directory Specification). Each is
/// named by an environment variable; a value that is no absolute path counts as none.
package enum BaseDirectory: Sendable {
  case cache, config, data, state

  private var variable: String {
    switch self {
    case .cache: "XDG_CACHE_HOME"
    case .config: "XDG_CONFIG_HOME"
    case .data: "XDG_DATA_HOME"
    case .state: "XDG_STATE_HOME"
    }
  }

  /// The place in the home directory that is meant without the variable.
  private var usualPlace: String {
    switch self {
    case .cache: ".cache"
    case .config: ".config"
    case .data: ".local/share"
    case .state: ".local/state"
    }
  }

  /// nil if the environment names neither this directory nor a home directory.
  package func path(_ environment: (String) -> String? = PathCalls.variable) -> String? {
    BaseDirectory.absolute(environment(variable))
      ?? BaseDirectory.home(environment).map { "\($0)/\(usualPlace)" }
  }

  /// The home directory.
  package static func home(_ environment: (String) -> String? = PathCalls.variable) -> String? {
    absolute(environment("HOME"))
  }

  /// The directories in which programs look for shared data, the user's own first.
  package static func dataSearchPath(
    _ environment: (String) -> String? = PathCalls.variable
  ) -> [String] {
    let named = environment("XDG_DATA_DIRS").flatMap { $0.isEmpty ? nil : $0 }
    let others = (named ?? "/usr/local/share:/usr/share").split(separator: ":").map(String.init)
    return [data.path(environment)].compactMap { $0 } + others
  }

  private static func absolute(_ path: String?) -> String? {
    path.flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}
