// programs/pictures_dlib - the task of examples/14_pictures.cpp with dlib: `pictures_dlib pets`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlib/dir_nav.h>
#include <dlib/dnn.h>
#include <dlib/image_io.h>
#include <dlib/image_transforms.h>
#include <cmath>
#include <iostream>
using namespace dlib;

using Picture = matrix<rgb_pixel>;
using Net = loss_multiclass_log<fc<
    2, relu<fc<64, max_pool<
                       2, 2, 2, 2,
                       relu<con<32, 3, 3, 1, 1, max_pool<2, 2, 2, 2, relu<con<16, 3, 3, 1, 1, input_rgb_image>>>>>>>>>>;

Picture augmented(Picture const& from, dlib::rand& random) {
  Picture to;
  point const by(random.get_integer_in_range(-3, 4), random.get_integer_in_range(-3, 4));
  extract_image_chip(from, translate_rect(get_rect(from), by), to);
  if (random.get_random_double() < 0.5) to = Picture(fliplr(to));
  disturb_colors(to, random);
  return to;
}

int main(int argc, char** argv) try {
  if (argc != 2)
    return std::fprintf(stderr, "usage: pictures_dlib FOLDER, with a folder of pictures for each class\n"), 2;
  std::vector<Picture> x;
  std::vector<unsigned long> y;
  auto folders = directory(argv[1]).get_dirs();
  std::sort(folders.begin(), folders.end());
  for (std::size_t label = 0; label < folders.size(); ++label)
    for (auto const& file : folders[label].get_files()) {
      Picture whole, small(32, 32);
      load_image(whole, file.full_name());
      resize_image(whole, small);
      x.push_back(small), y.push_back(label);
    }
  dlib::rand random;
  randomize_samples(x, y, random);
  std::vector<Picture> test(x.begin() + x.size() * 4 / 5, x.end());
  std::vector<unsigned long> wanted(y.begin() + y.size() * 4 / 5, y.end());
  x.resize(x.size() * 4 / 5), y.resize(x.size());

  Net net;
  dnn_trainer<Net> trainer(net, sgd(0, 0.9));
  trainer.set_iterations_without_progress_threshold(100000);  // the rate is set below
  double least = INFINITY;
  int epoch = 0;
  for (int since = 0; epoch < 20 && since < 8; ++epoch) {
    trainer.set_learning_rate(0.01 * (1 + std::cos(pi * epoch / 20)));
    randomize_samples(x, y, random);
    for (std::size_t i = 0; i < x.size(); i += 32) {
      std::vector<Picture> batch;
      for (std::size_t k = i; k < std::min(i + 32, x.size()); ++k) batch.push_back(augmented(x[k], random));
      trainer.train_one_step(batch.begin(), batch.end(), y.begin() + i);
    }
    trainer.get_net();  // waits for the trainer's thread
    double const loss = net.compute_loss(test.begin(), test.end(), wanted.begin());
    since = loss < least ? 0 : since + 1;
    if (since == 0) least = loss, serialize("pets.dat") << net;
  }

  deserialize("pets.dat") >> net;
  auto const kinds = net(test);
  matrix<int> counts = zeros_matrix<int>(2, 2);
  for (std::size_t i = 0; i < test.size(); ++i) ++counts(wanted[i], kinds[i]);
  std::printf("%d epochs, accuracy %.3f\n", epoch, static_cast<double>(trace(counts)) / test.size());
  std::cout << counts;
} catch (std::exception const& e) {
  std::fprintf(stderr, "pictures_dlib: %s\n", e.what());
  return 2;
}
