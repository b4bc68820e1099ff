#include "runtime/cuda/peers.hpp"

#include <string>

#include "forebay/pool/error.hpp"

namespace forebay::cuda {

std::vector<CUdevice> find_peers(const driver::CudaApi& api, int index, pool::PoolPeers which) {
  std::vector<CUdevice> peers;
  if (which == pool::PoolPeers::none) {
    return peers;
  }
  int count = 0;
  check(api, api.cuDeviceGetCount(&count), "cuDeviceGetCount");
  CUdevice device = 0;
  check(api, api.cuDeviceGet(&device, index), "cuDeviceGet");
  for (int other = 0; other < count; ++other) {
    if (other == index) {
      continue;
    }
    CUdevice peer = 0;
    int reaches = 0;
    check(api, api.cuDeviceGet(&peer, other), "cuDeviceGet");
    check(api, api.cuDeviceCanAccessPeer(&reaches, peer, device), "cuDeviceCanAccessPeer");
    if (reaches != 0) {
      peers.push_back(peer);
    } else if (which == pool::PoolPeers::all) {
      throw DeviceError("/pool/peers is \"all\", but cuda:" + std::to_string(other) +
                        " cannot reach the memory of cuda:" + std::to_string(index) +
                        "; \"reachable\" leaves it out");
    }
  }
  return peers;
}

}  // namespace forebay::cuda
