// The same on the fake driver, whose stream may lag behind while another one takes what is free.
#include <random>

#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/compute/graph_program.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

/// Another stream that writes over whatever memory it can get.
class Vandal {
 public:
  explicit Vandal(FakeCuda& cuda) : cuda_(cuda), stream_(cuda.device->create_stream()) {}
  ~Vandal() { give_back(); }
  Vandal(const Vandal&) = delete;
  Vandal& operator=(const Vandal&) = delete;

  void act() {
    for (int i = 0; i < 8; ++i) {
      void* const block = cuda_.device->pool().allocate(12, stream_.id());
      blocks_.push_back(block);
      REQUIRE(cuda_.device->api().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(block), 0xff, 12,
                                                  static_cast<CUstream>(stream_.native())) ==
              CUDA_SUCCESS);
    }
    if (blocks_.size() > 40) give_back();
  }
  void give_back() {
    for (void* block : blocks_) cuda_.device->pool().deallocate(block, stream_.id());
    blocks_.clear();
  }

 private:
  FakeCuda& cuda_;
  Stream stream_;
  std::vector<void*> blocks_;
};

}  // namespace

TEST_CASE("graphs in random order keep their memory, however far the device lags behind") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    FakeCuda cuda;
    const auto queue = static_cast<CUstream>(cuda.stream.native());
    std::mt19937 random(seed);
    testing::GraphProgram program(*cuda.device, seed, false);
    {
      Vandal vandal(cuda);
      for (int i = 0; i < 1500; ++i) {
        program.step();
        switch (random() % 8) {
          case 0:
            cuda.driver.hold(queue);
            break;
          case 1:
            cuda.driver.let_go(queue);
            break;
          case 2:
            vandal.act();
            break;
          default:
            (void)cuda.driver.step(queue);
        }
        if (i % 97 == 0) REQUIRE(cuda.device->pool().validate() == "");
      }
      cuda.driver.let_go(queue);
    }
    program.finish();
  }
}
