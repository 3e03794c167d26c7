// Text into an OutputFile, compressed by gzip or as it is.
#ifndef ESCALONA_CLI_GZIP_WRITER_H_
#define ESCALONA_CLI_GZIP_WRITER_H_

#include <zlib.h>

#include <memory>
#include <string_view>

#include "cli/output_file.h"

namespace escalona::cli {

// Errors are kept by the file. Not thread safe.
class GzipWriter {
 public:
  GzipWriter(OutputFile& file, bool compress) : file_(file) {
    if (!compress) return;
    stream_ = std::make_unique<z_stream>();
    constexpr int kGzip = 15 + 16;
    if (deflateInit2(stream_.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;
  ~GzipWriter() {
    if (stream_) deflateEnd(stream_.get());
  }

  void Append(std::string_view text) {
    if (stream_) {
      Deflate(text, Z_NO_FLUSH);
    } else {
      file_.Append(text);
    }
  }
  // To be called last.
  void Finish() {
    if (stream_) Deflate({}, Z_FINISH);
  }

 private:
  void Deflate(std::string_view text, int flush) {
    char buffer[16 << 10];
    stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_->avail_in = static_cast<uInt>(text.size());
    do {
      stream_->next_out = reinterpret_cast<Bytef*>(buffer);
      stream_->avail_out = sizeof buffer;
      deflate(stream_.get(), flush);
      file_.Append({buffer, sizeof buffer - stream_->avail_out});
    } while (stream_->avail_out == 0);
  }

  OutputFile& file_;
  std::unique_ptr<z_stream> stream_;
};

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_GZIP_WRITER_H_
