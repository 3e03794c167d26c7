// How far a path or a query needs no change: the inner loops of the fast path, 16 bytes at a time.
#ifndef ESCALONA_URL_SCAN_H_
#define ESCALONA_URL_SCAN_H_

#include <cstddef>
#include <string>

namespace escalona::url_internal {

// Position, from `begin` on, of the first byte that a path does not hold as it is: '?', '#', '\\'
// or one to be encoded. Also stops, at the slash, where a dot segment may follow. The size when
// none.
[[nodiscard]] size_t ScanPlainPath(const std::string& text, size_t begin);

// Position, from `begin` on, of the first byte that a query does not hold as it is: '#' or one to
// be encoded. The size when there is none.
[[nodiscard]] size_t ScanPlainQuery(const std::string& text, size_t begin);

// The same, a byte at a time: for short texts and other processors, and for comparison in tests.
[[nodiscard]] size_t ScanPlainPathBytewise(const std::string& text, size_t begin);
[[nodiscard]] size_t ScanPlainQueryBytewise(const std::string& text, size_t begin);

// Lowers the host that starts at `begin` as far as it is plain (letters, digits, '-', '.', '_') and
// returns where that ends.
size_t LowerPlainHost(std::string& text, size_t begin);
size_t LowerPlainHostBytewise(std::string& text, size_t begin);

}  // namespace escalona::url_internal

#endif  // ESCALONA_URL_SCAN_H_
