import Hummingbird

extension Request {
  /// The value of a parameter behind the path; nil if it has none of this name.
  func query(_ name: String) -> String? { uri.queryParameters[name[...]].map(String.init) }
}
