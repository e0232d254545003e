/// The settings that S3 tools share: `~/.aws/credentials` and `~/.aws/config`.
struct S3Profiles {
  private var settings: [String: String] = [:]

  /// Reads the settings of one profile. In the file of credentials its section is `[name]`, in the other one
  /// `[profile name]`, and `[default]` in both. A setting of the first file counts.
  init(_ profile: String, credentials: String, configuration: String) {
    let titles = profile == "default" ? ["default", "profile default"] : ["profile \(profile)"]
    S3Profiles.read(configuration, titles, into: &settings)
    S3Profiles.read(credentials, [profile], into: &settings)
  }

  subscript(name: String) -> String? { settings[name] }

  /// False if no file has the profile.
  var exists: Bool { !settings.isEmpty }

  private static func read(
    _ text: String, _ titles: [String], into settings: inout [String: String]
  ) {
    var isWanted = false
    // An indented line belongs to the setting before, which has several parts: `s3.addressing_style`.
    var whole = ""
    for line in text.split(whereSeparator: \.isNewline) {
      let isPart = line.first == " " || line.first == "\t"
      let content = line.trimmed
      if content.hasPrefix("#") || content.hasPrefix(";") { continue }
      if !isPart, content.hasPrefix("["), content.hasSuffix("]") {
        let title = content.dropFirst().dropLast().split(separator: " ").joined(separator: " ")
        isWanted = titles.contains(title)
      } else if isWanted, let equals = content.firstIndex(of: "=") {
        let name = content[..<equals].trimmed.lowercased()
        if !isPart { whole = name }
        settings[isPart ? "\(whole).\(name)" : name] =
          content[content.index(after: equals)...].trimmed
      }
    }
  }
}
