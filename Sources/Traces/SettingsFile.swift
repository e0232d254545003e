/// Files of groups and keys: desktop entries and the settings of KDE's programs.
package enum SettingsFile {
  /// The URI that a desktop entry of type Link leads to; nil if it is none.
  static func link(_ content: [UInt8], home: String) -> [UInt8]? {
    let group = "Desktop Entry"
    guard value("Type", group: group, content, home: home) == Array("Link".utf8) else { return nil }
    return value("URL", group: group, content, home: home)
  }

  /// The value of a key; nil if the group has none. KDE writes `url[$e]=file://$HOME/…`.
  package static func value(_ key: String, group: String, _ content: [UInt8], home: String)
    -> [UInt8]?
  {
    var isGroup = false
    for line in content.split(separator: UInt8(ascii: "\n")) {
      if line.first == UInt8(ascii: "[") {
        isGroup = line.starts(with: "[\(group)]".utf8)
        continue
      }
      guard isGroup, let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = String(decoding: line[..<equals], as: UTF8.self).filter { $0 != " " }
      let value = Array(line[(equals + 1)...].drop { $0 == UInt8(ascii: " ") })
      if name == key { return value }
      if name == key + "[$e]" { return expanded(value, home) }
    }
    return nil
  }

  private static func expanded(_ value: [UInt8], _ home: String) -> [UInt8] {
    let variable = Array("$HOME".utf8)
    guard let start = value.indices.first(where: { value[$0...].starts(with: variable) }) else {
      return value
    }
    return value[..<start] + Array(home.utf8) + value[(start + variable.count)...]
  }
}
