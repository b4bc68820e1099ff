#include "pool/chunk_tree.hpp"

#include <algorithm>

namespace forebay::pool {
namespace {

int highest_below(const BuddyChunk* chunk) noexcept {
  return chunk == nullptr ? -1 : chunk->highest_below;
}

void pull(BuddyChunk* chunk) noexcept {
  chunk->highest_below =
      std::max({chunk->highest_free(), highest_below(chunk->left), highest_below(chunk->right)});
}

void split_tree(BuddyChunk* root, Address address, BuddyChunk** left, BuddyChunk** right) noexcept {
  if (root == nullptr) {
    *left = *right = nullptr;
  } else if (root->address < address) {
    split_tree(root->right, address, &root->right, right);
    *left = root;
    pull(root);
  } else {
    split_tree(root->left, address, left, &root->left);
    *right = root;
    pull(root);
  }
}

BuddyChunk* merge(BuddyChunk* left, BuddyChunk* right) noexcept {
  if (left == nullptr) return right;
  if (right == nullptr) return left;
  if (left->priority > right->priority) {
    left->right = merge(left->right, right);
    pull(left);
    return left;
  }
  right->left = merge(left, right->left);
  pull(right);
  return right;
}

void insert_below(BuddyChunk** root, BuddyChunk* chunk) noexcept {
  if (*root == nullptr || chunk->priority > (*root)->priority) {
    split_tree(*root, chunk->address, &chunk->left, &chunk->right);
    *root = chunk;
  } else {
    insert_below(chunk->address < (*root)->address ? &(*root)->left : &(*root)->right, chunk);
  }
  pull(*root);
}

void erase_below(BuddyChunk** root, BuddyChunk* chunk) noexcept {
  if (*root == chunk) {
    *root = merge(chunk->left, chunk->right);
    return;
  }
  erase_below(chunk->address < (*root)->address ? &(*root)->left : &(*root)->right, chunk);
  pull(*root);
}

void update_below(BuddyChunk* root, BuddyChunk* chunk) noexcept {
  if (root != chunk) {
    update_below(chunk->address < root->address ? root->left : root->right, chunk);
  }
  pull(root);
}

bool valid_below(const BuddyChunk* root, Address low, Address high) noexcept {
  if (root == nullptr) return true;
  const int highest =
      std::max({root->highest_free(), highest_below(root->left), highest_below(root->right)});
  return root->address >= low && root->address < high && root->highest_below == highest &&
         (root->left == nullptr || root->left->priority <= root->priority) &&
         (root->right == nullptr || root->right->priority <= root->priority) &&
         valid_below(root->left, low, root->address) &&
         valid_below(root->right, root->address + 1, high);
}

}  // namespace

void ChunkTree::insert(BuddyChunk* chunk) noexcept {
  // Any well-mixed function of the address will do.
  std::uint64_t mixed = chunk->address * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 29;
  mixed *= 0xBF58476D1CE4E5B9u;
  chunk->priority = static_cast<std::uint32_t>(mixed >> 32);
  chunk->left = chunk->right = nullptr;
  insert_below(&root_, chunk);
}

void ChunkTree::erase(BuddyChunk* chunk) noexcept {
  erase_below(&root_, chunk);
  chunk->left = chunk->right = nullptr;
}

void ChunkTree::update(BuddyChunk* chunk) noexcept { update_below(root_, chunk); }

BuddyChunk* ChunkTree::lowest(unsigned order) const noexcept {
  const int wanted = static_cast<int>(order);
  BuddyChunk* chunk = root_;
  if (highest_below(chunk) < wanted) return nullptr;
  while (true) {
    ++probes_;
    if (highest_below(chunk->left) >= wanted) {
      chunk = chunk->left;
    } else if (chunk->highest_free() >= wanted) {
      return chunk;
    } else {
      chunk = chunk->right;
    }
  }
}

bool ChunkTree::validate() const noexcept { return valid_below(root_, 0, ~Address{0}); }

}  // namespace forebay::pool
