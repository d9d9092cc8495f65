// A small C++ interface for tests of facades: what is declared here is implemented in part (shapes.cpp).
#pragma once
#include <exception>
#include <vector>

// The library hides what does not say this; of a class it also counts for vtable and typeinfo.
#define VISIBLE __attribute__((visibility("default")))

namespace shapes {

class VISIBLE Shape {
 public:
  explicit Shape(int sides);
  virtual ~Shape();
  virtual int sides() const;
  static int made;             // written by both sides
  static const int limits[3];  // read by both sides
  int sides_;
};

class VISIBLE Square : public Shape {
 public:
  Square();
  ~Square() override;
  int area() const { return side_ * side_; }
  int side_ = 3;
};

VISIBLE Shape* make(int sides);
VISIBLE int sides_of(const Shape& shape);  // a virtual call from within the library
VISIBLE int made_so_far();

class VISIBLE Refusal : public std::exception {
 public:
  ~Refusal() override;
  const char* what() const noexcept override;
};
[[noreturn]] VISIBLE void refuse();

// Not implemented from here on.
class Ghost {
 public:
  Ghost() {}  // uses the vtable
  virtual ~Ghost();
  virtual unsigned appear();
  virtual void* shadow();
};
class Phantom : public Ghost {};  // uses the vtable and the typeinfo of its base

unsigned float_up(const Ghost& ghost);
bool visible();
const char* cry();
int colour();
std::vector<int> steps();
void* grave();

struct Chain {
  explicit Chain(const char* metal);
  ~Chain();
  int length() const;
  void* links[2];
};

extern int haunted[4];
extern const double weights[2];

void whisper();  // optional

}  // namespace shapes
