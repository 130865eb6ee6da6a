//! Memory that is kept, and memory in large pages.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};
use memmap2::MmapMut;

/// Memory that is not in use; threads take it out and put it back.
#[derive(Debug)]
pub struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Pool<T> {
    pub fn take(&self) -> Option<T> {
        self.0.lock().ok()?.pop()
    }

    pub fn put(&self, idle: T) {
        if let Ok(mut all) = self.0.lock() {
            all.push(idle);
        }
    }

    /// All that is not in use.
    pub fn all_mut(&mut self) -> &mut [T] {
        self.0.get_mut().map_or(&mut [], |all| all)
    }
}

/// A list that goes out into the world; its memory comes back to the pool when it is dropped there.
#[derive(Debug)]
pub struct Pooled<T> {
    list: Vec<T>,
    pool: Option<Arc<Pool<Vec<T>>>>,
}

impl<T> Pooled<T> {
    /// Empty.
    pub fn of(pool: &Arc<Pool<Vec<T>>>) -> Self {
        Self { list: pool.take().unwrap_or_default(), pool: Some(pool.clone()) }
    }
}

impl<T> Default for Pooled<T> {
    fn default() -> Self {
        Self { list: vec![], pool: None }
    }
}

impl<T> Drop for Pooled<T> {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.put(reuse_allocation(std::mem::take(&mut self.list)));
        }
    }
}

/// Nobody's.
impl<T: Clone> Clone for Pooled<T> {
    fn clone(&self) -> Self {
        Self { list: self.list.clone(), pool: None }
    }
}

impl<T: PartialEq> PartialEq for Pooled<T> {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl<T> Deref for Pooled<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.list
    }
}

impl<T> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.list
    }
}

/// The memory of a list for another one, of types of one layout: the same type with other lifetimes.
pub fn reuse_allocation<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    // Collecting into the memory of the source is what the standard library does where layouts agree; a test counts on
    // it.
    list.into_iter().filter_map(|_| None).collect()
}

/// Numbers that begin with a line of the cache. Many of them stand in large pages (2 MB) where the system has such:
/// looking up where each page of 4 kB is takes as long as reading it, and prefetching ends with it. Measured on a busy
/// machine, the elastic solve of 415,000 tets: 139 ms a step instead of 155.
#[derive(Debug)]
pub struct Pages<T> {
    memory: Memory,
    len: usize,
    of: PhantomData<T>,
}

#[derive(Debug)]
enum Memory {
    Heap(Vec<Line>),
    Mapped(MmapMut),
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Below this many bytes there is little to look up.
const LARGE: usize = 4 << 20;

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { memory: Memory::Heap(vec![]), len: 0, of: PhantomData }
    }
}

impl<T: Pod> Pages<T> {
    pub fn zeros(len: usize) -> Self {
        let bytes = len * size_of::<T>();
        // The heap will do where there is no mapping.
        let mapped = if bytes < LARGE { None } else { MmapMut::map_anon(bytes).ok() };
        let memory = match mapped {
            Some(map) => {
                #[cfg(target_os = "linux")]
                map.advise(memmap2::Advice::HugePage).ok(); // else they are small
                Memory::Mapped(map)
            }
            None => Memory::Heap(vec![Line::zeroed(); bytes.div_ceil(size_of::<Line>())]),
        };
        Self { memory, len, of: PhantomData }
    }

    /// Makes room for `len` numbers: zeros, unless there are as many already.
    pub fn fit(&mut self, len: usize) {
        if self.len != len {
            *self = Self::zeros(len);
        }
    }
}

impl<T: Pod> From<&[T]> for Pages<T> {
    fn from(numbers: &[T]) -> Self {
        let mut pages = Self::zeros(numbers.len());
        pages.copy_from_slice(numbers);
        pages
    }
}

impl<T: Pod> Clone for Pages<T> {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl<T: Pod> Deref for Pages<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let bytes = match &self.memory {
            Memory::Heap(lines) => cast_slice(lines),
            Memory::Mapped(map) => &map[..],
        };
        cast_slice(&bytes[..self.len * size_of::<T>()])
    }
}

impl<T: Pod> DerefMut for Pages<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let bytes = match &mut self.memory {
            Memory::Heap(lines) => cast_slice_mut(lines),
            Memory::Mapped(map) => &mut map[..],
        };
        cast_slice_mut(&mut bytes[..self.len * size_of::<T>()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lent_comes_back() {
        let pool = Arc::new(Pool::default());
        for round in 0..3 {
            let work = || {
                let mut list = Pooled::of(&pool);
                list.extend(0..100);
                assert_eq!(list, list.clone());
            };
            // The copy has memory of its own.
            assert_eq!(allocation_counter::measure(work).count_total, if round == 0 { 3 } else { 1 });
        }
        let mut list = vec![3; 50];
        let measured = allocation_counter::measure(|| list = reuse_allocation(std::mem::take(&mut list)));
        assert_eq!((measured.count_total, list.is_empty(), list.capacity()), (0, true, 50));
    }

    #[test]
    fn few_and_many_numbers_are_kept_alike() {
        for n in [0, 3, LARGE / 12 + 5] {
            let mut pages = Pages::<[f32; 3]>::default();
            pages.fit(n);
            assert_eq!(matches!(pages.memory, Memory::Mapped(_)), n > 3);
            assert!(pages.len() == n && pages.iter().all(|x| *x == [0.0; 3]));
            pages.iter_mut().enumerate().for_each(|(i, x)| x[1] = i as f32);
            pages.fit(n);
            assert!(pages.clone().iter().enumerate().all(|(i, x)| *x == [0.0, i as f32, 0.0]));
            pages.fit(n + 1);
            assert_eq!(pages.iter().map(|x| x[1]).sum::<f32>(), 0.0);
        }
    }
}
