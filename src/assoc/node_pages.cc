// Pages of nodes.
#include "assoc/node_pages.h"

#include <new>

namespace escalona::assoc {
namespace {

void FreeBlock(void* block, void* memory) { static_cast<MemoryAccount*>(memory)->Free(block); }

}  // namespace

NodePages::NodePages(CellKind kind, MemoryAccount& memory, Reclaimer& reclaimer)
    : memory_(memory),
      reclaimer_(reclaimer),
      directory_(nullptr),
      cell_kind_(kind),
      stride_(kind == CellKind::kInterned ? 16 : 24) {
  directory_.store(NewDirectory(4), std::memory_order_release);
}

NodePages::~NodePages() {
  Directory* directory = directory_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < directory->capacity; ++i) {
    memory_.Free(directory->pages()[i].load(std::memory_order_relaxed));
  }
  memory_.Free(directory);
}

NodePages::Directory* NodePages::NewDirectory(uint32_t capacity) {
  auto* directory = static_cast<Directory*>(
      memory_.Allocate(sizeof(Directory) + capacity * sizeof(std::atomic<char*>)));
  directory->capacity = capacity;
  for (uint32_t i = 0; i < capacity; ++i) new (&directory->pages()[i]) std::atomic<char*>(nullptr);
  return directory;
}

void NodePages::AddPage(uint32_t number) {
  Directory* directory = directory_.load(std::memory_order_relaxed);
  if (number == directory->capacity) {
    Directory* larger = NewDirectory(directory->capacity * 2);
    for (uint32_t i = 0; i < number; ++i) {
      larger->pages()[i].store(directory->pages()[i].load(std::memory_order_relaxed),
                               std::memory_order_relaxed);
    }
    directory_.store(larger, std::memory_order_release);
    reclaimer_.Retire(directory, FreeBlock, &memory_);
    directory = larger;
  }
  auto* page = static_cast<char*>(memory_.Allocate(static_cast<size_t>(kPageNodes) * stride_));
  for (uint32_t i = 0; i < kPageNodes; ++i) {
    new (page + static_cast<size_t>(i) * stride_) AtomicLink(nullptr);
  }
  directory->pages()[number].store(page, std::memory_order_release);
}

uint32_t NodePages::Allocate() {
  if (first_free_ != kNone) {
    const uint32_t node = first_free_;
    std::memcpy(&first_free_, Cell(node), sizeof(first_free_));
    return node;
  }
  if ((high_water_ & (kPageNodes - 1)) == 0) AddPage(high_water_ >> kPageBits);
  return high_water_++;
}

void NodePages::Free(uint32_t node) {
  SetChunk(node, nullptr);
  std::memcpy(Cell(node), &first_free_, sizeof(first_free_));
  first_free_ = node;
}

}  // namespace escalona::assoc
