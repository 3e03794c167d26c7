// Notes which files a database rests on, and finds those that are missing.
#include "store/kept_files.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "store/whole_file.h"

namespace escalona::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoteWords = "escalona files 1";

bool IsManifest(const std::string& name) { return name.starts_with("MANIFEST-"); }
bool IsLog(const std::string& name) { return name.ends_with(".log"); }
std::string PathOf(const std::string& folder, const std::string& name) {
  return folder + "/" + name;
}
std::string NameIn(const std::string& path) { return fs::path(path).filename(); }

uint64_t ManifestNumber(std::string_view name) {
  const size_t digits = name.find('-') + 1;
  return std::strtoull(std::string(name.substr(digits)).c_str(), nullptr, 10);
}

// Says of the parts that reach the disk what they are.
class NotedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  NotedFile(std::string name, std::unique_ptr<rocksdb::FSWritableFile> file, KeptFiles& files)
      : FSWritableFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        hashed_(IsManifest(name_)),
        files_(files) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
    return Added(data, FSWritableFileOwnerWrapper::Append(data, options, context));
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& verification,
                           rocksdb::IODebugContext* context) override {
    return Added(data, FSWritableFileOwnerWrapper::Append(data, options, verification, context));
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* context) override {
    const KnownPart part = Part();  // what is added meanwhile may not be on the disk
    return Reached(part, FSWritableFileOwnerWrapper::Sync(options, context));
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* context) override {
    const KnownPart part = Part();
    return Reached(part, FSWritableFileOwnerWrapper::Fsync(options, context));
  }

 private:
  KnownPart Part() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return part_;
  }
  rocksdb::IOStatus Added(const rocksdb::Slice& data, rocksdb::IOStatus status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (status.ok() && hashed_) part_.Add({data.data(), data.size()});
    if (status.ok() && !hashed_) part_.bytes += data.size();
    return status;
  }
  rocksdb::IOStatus Reached(const KnownPart& part, rocksdb::IOStatus status) {
    if (status.ok()) files_.Synced(name_, part);
    return status;
  }

  const std::string name_;
  const bool hashed_;
  KeptFiles& files_;
  std::mutex mutex_;  // a log is added to while it is synced
  KnownPart part_;
};

absl::Status Missing(const std::string& path, std::string_view what) {
  return absl::DataLossError("store: " + path + " " + std::string(what) + "; " + RestoreRemedy() +
                             ", or copy the folder and then delete " +
                             fs::path(path).parent_path().string() + "/" + FileNote::kName +
                             " to go on with what is left");
}

absl::Status CheckList(const std::string& folder, const FileNote& note) {
  std::string current = ReadWholeFile(folder + "/CURRENT");
  while (current.ends_with('\n')) current.pop_back();
  const uint64_t now = ManifestNumber(current);
  // A later one was made by an opening that was cut off before it deleted anything.
  if (note.manifest.empty() || now > ManifestNumber(note.manifest)) return absl::OkStatus();
  if (current != note.manifest) {
    return Missing(folder + "/CURRENT", "should name " + note.manifest + " and does not");
  }
  const std::string path = folder + "/" + note.manifest;
  std::error_code error;
  if (!fs::exists(path, error)) return Missing(path, "(the list of tables) is missing");
  const std::string text = ReadWholeFile(path);
  KnownPart part;
  part.Add(std::string_view(text).substr(0, note.list.bytes));
  if (part.bytes < note.list.bytes) return Missing(path, "(the list of tables) is cut off");
  if (part.hash != note.list.hash) return Missing(path, "(the list of tables) is damaged");
  return absl::OkStatus();
}

absl::Status CheckLog(const std::string& path, uint64_t bytes) {
  std::error_code error;
  const uint64_t there = fs::file_size(path, error);
  if (error) return Missing(path, "(a log of what was written last) is missing");
  if (there < bytes) return Missing(path, "(a log of what was written last) is cut off");
  return absl::OkStatus();
}

}  // namespace

void KnownPart::Add(std::string_view text) {
  bytes += text.size();
  if (hash == 0) hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
}

std::string CurrentBoot() {
  std::istringstream text(ReadWholeFile("/proc/sys/kernel/random/boot_id"));
  std::string boot;
  text >> boot;
  return boot;
}

std::string RestoreRemedy() { return "restore it from a backup (docs/operations.md)"; }

std::optional<FileNote> FileNote::Read(const std::string& folder) {
  std::istringstream text(ReadWholeFile(folder + "/" + kName));
  std::string line;
  if (!std::getline(text, line) || line != kNoteWords) return std::nullopt;
  FileNote note;
  std::string kind;
  while (text >> kind && kind != "end") {
    std::string name;
    text >> name;
    if (kind == "boot") note.boot = name;
    if (kind == "list") note.manifest = name;
    if (kind == "list") text >> note.list.bytes >> note.list.hash;
    if (kind == "log") text >> note.logs[name];
  }
  if (!text || kind != "end") return std::nullopt;
  return note;
}

std::string FileNote::Text() const {
  std::ostringstream text;
  text << kNoteWords << '\n';
  if (!boot.empty()) text << "boot " << boot << '\n';
  if (!manifest.empty()) {
    text << "list " << manifest << ' ' << list.bytes << ' ' << list.hash << '\n';
  }
  for (const auto& [name, bytes] : logs) text << "log " << name << ' ' << bytes << '\n';
  text << "end\n";
  return text.str();
}

absl::Status FileNote::Check(const std::string& folder) const {
  if (absl::Status status = CheckList(folder, *this); !status.ok()) return status;
  for (const auto& [name, bytes] : logs) {
    if (absl::Status status = CheckLog(PathOf(folder, name), bytes); !status.ok()) return status;
  }
  return absl::OkStatus();
}

KeptFiles::KeptFiles(std::string folder, std::function<bool()> damaged)
    : FileSystemWrapper(rocksdb::FileSystem::Default()),
      folder_(std::move(folder)),
      damaged_(std::move(damaged)) {
  note_.boot = CurrentBoot();
}

absl::Status KeptFiles::EndKeeping() {
  std::error_code none;
  for (const auto& file : fs::directory_iterator(folder_, none)) {
    const std::string name = file.path().filename();
    if (!IsLog(name)) continue;
    uint64_t bytes = 0;
    const rocksdb::IOStatus synced = SyncLog(file.path(), bytes);
    if (!synced.ok()) return absl::UnavailableError("store: " + synced.ToString());
    const std::lock_guard<std::mutex> lock(mutex_);
    note_.logs.try_emplace(name, bytes);
  }
  WriteNote(true);
  keeping_ = false;
  return absl::OkStatus();
}

rocksdb::IOStatus KeptFiles::SyncLog(const std::string& path, uint64_t& bytes) {
  std::unique_ptr<rocksdb::FSWritableFile> log;
  rocksdb::IOStatus status = GetFileSize(path, {}, &bytes, nullptr);
  if (status.ok()) status = ReopenWritableFile(path, {}, &log, nullptr);
  if (status.ok()) status = log->Fsync({}, nullptr);
  if (status.ok()) status = log->Close({}, nullptr);
  return status;
}

void KeptFiles::Close() {
  if (!keeping_) WriteNote(true);
}

rocksdb::IOStatus KeptFiles::NewWritableFile(const std::string& name,
                                             const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* file,
                                             rocksdb::IODebugContext* context) {
  const std::string inner = NameIn(name);
  const bool is_list = IsManifest(inner);
  // A table may be written while logs are still being read; it is on no list then.
  if (keeping_ && !inner.ends_with(".sst") && damaged_()) {
    return rocksdb::IOStatus::IOError("its logs are damaged");
  }
  rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, context);
  if (!status.ok() || (!is_list && !IsLog(inner))) return status;
  *file = std::make_unique<NotedFile>(inner, std::move(*file), *this);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_list) {
      next_manifest_ = inner;
      next_list_ = {};
      return status;
    }
    note_.logs[inner] = 0;
    changed_ = true;
  }
  // Writers wait for this one, so it waits for nobody. What it says about the log is needed after a
  // crash of the process.
  if (!keeping_) WriteNote(false);
  return status;
}

rocksdb::IOStatus KeptFiles::RenameFile(const std::string& from, const std::string& to,
                                        const rocksdb::IOOptions& options,
                                        rocksdb::IODebugContext* context) {
  rocksdb::IOStatus status = FileSystemWrapper::RenameFile(from, to, options, context);
  if (status.ok() && NameIn(to) == "CURRENT") {
    const std::lock_guard<std::mutex> lock(mutex_);
    note_.manifest = next_manifest_;
    note_.list = next_list_;
    changed_ = true;
  }
  return status;
}

rocksdb::IOStatus KeptFiles::DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                                        rocksdb::IODebugContext* context) {
  if (keeping_) return rocksdb::IOStatus::OK();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (note_.logs.erase(NameIn(name)) > 0) changed_ = true;
  }
  WriteNote(true, /*if_changed=*/true);
  return FileSystemWrapper::DeleteFile(name, options, context);
}

rocksdb::IOStatus KeptFiles::LockFile(const std::string& /*name*/,
                                      const rocksdb::IOOptions& /*options*/,
                                      rocksdb::FileLock** lock,
                                      rocksdb::IODebugContext* /*context*/) {
  *lock = new rocksdb::FileLock;
  return rocksdb::IOStatus::OK();
}

rocksdb::IOStatus KeptFiles::UnlockFile(rocksdb::FileLock* lock,
                                        const rocksdb::IOOptions& /*options*/,
                                        rocksdb::IODebugContext* /*context*/) {
  delete lock;
  return rocksdb::IOStatus::OK();
}

void KeptFiles::Synced(const std::string& name, const KnownPart& part) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (name == next_manifest_) next_list_ = part;
  if (name == note_.manifest) {
    note_.list = part;
    changed_ = true;
  }
  if (const auto log = note_.logs.find(name); log != note_.logs.end()) log->second = part.bytes;
}

void KeptFiles::WriteNote(bool reach_disk, bool if_changed) {
  std::unique_lock<std::mutex> one(writing_, std::defer_lock);
  if (reach_disk) {
    one.lock();  // also waits for one that is being written
  } else if (!one.try_lock()) {
    return;  // the next one says it
  }
  std::string text;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (if_changed && !changed_) return;
    text = note_.Text();
    if (reach_disk) changed_ = false;  // who deletes next waits for one that does
  }
  if (WriteWholeFile(folder_, FileNote::kName, text, reach_disk).ok()) return;
  unlink((folder_ + "/" + FileNote::kName).c_str());
}

}  // namespace escalona::store
