// A store has its prefix for itself. A store inside another one's prefix would go with that one's copies, and
// nobody would look for it there.

extension S3Place {
  /// All names of the bucket.
  package var wholeBucket: S3Place { S3Place(bucket: bucket, prefix: "") }

  /// The prefixes that this one lies in, the longest first. The last one is the bucket itself.
  package var outer: [S3Place] {
    let parts = prefix.split(separator: "/")
    return parts.indices.reversed().map { count in
      S3Place(bucket: bucket, prefix: parts[..<count].joined(separator: "/"))
    }
  }

  /// The place whose conf has this name, relative to this place; nil if it is no conf.
  package func inner(withConfiguration name: String) -> S3Place? {
    let parts = name.split(separator: "/")
    guard parts.count > 1, let last = parts.last,
      StoreNames.configurations.contains(String(last))
    else { return nil }
    return S3Place(bucket: bucket, prefix: key(of: parts.dropLast().joined(separator: "/")))
  }

  /// Returns the store in whose prefix this place lies. nil if there is none, or if the credentials do not
  /// permit a look. `bucket` is the store of `wholeBucket`.
  package func storeAround(in bucket: any ObjectStore) throws(ObjectError) -> S3Place? {
    for place in outer {
      for name in [StoreNames.unfinished] + StoreNames.configurations {
        do throws(ObjectError) {
          if try bucket.stat(place.key(of: name)) != nil { return place }
        } catch {
          if error != .refused(.permission) { throw error }
        }
      }
    }
    return nil
  }
}
